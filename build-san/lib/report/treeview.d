build-san/lib/report/treeview.o: lib/report/treeview.c \
 lib/report/treeview.h lib/report/calltree.h lib/report/profile.h \
 lib/store/store_reader.h lib/store/store.h lib/stack/origin.h \
 lib/report/report.h lib/report/text.h lib/base/buf.h
lib/report/treeview.h:
lib/report/calltree.h:
lib/report/profile.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/report/report.h:
lib/report/text.h:
lib/base/buf.h:
