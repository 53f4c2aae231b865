build-san/lib/export/export_perf_script.o: \
 lib/export/export_perf_script.c lib/export/export.h lib/report/profile.h \
 lib/store/store_reader.h lib/store/store.h lib/stack/origin.h \
 lib/report/text.h lib/base/buf.h
lib/export/export.h:
lib/report/profile.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/report/text.h:
lib/base/buf.h:
