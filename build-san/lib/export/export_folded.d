build-san/lib/export/export_folded.o: lib/export/export_folded.c \
 lib/export/export.h lib/report/profile.h lib/store/store_reader.h \
 lib/store/store.h lib/stack/origin.h lib/report/calltree.h \
 lib/report/groups.h lib/report/strings.h lib/report/text.h \
 lib/base/buf.h
lib/export/export.h:
lib/report/profile.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/report/calltree.h:
lib/report/groups.h:
lib/report/strings.h:
lib/report/text.h:
lib/base/buf.h:
