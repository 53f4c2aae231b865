build-san/lib/report/report_json.o: lib/report/report_json.c \
 lib/report/calltree.h lib/report/profile.h lib/store/store_reader.h \
 lib/store/store.h lib/stack/origin.h lib/report/flat.h \
 lib/report/groups.h lib/report/report.h lib/report/report_header.h \
 lib/report/text.h lib/base/buf.h lib/report/treeview.h
lib/report/calltree.h:
lib/report/profile.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/report/flat.h:
lib/report/groups.h:
lib/report/report.h:
lib/report/report_header.h:
lib/report/text.h:
lib/base/buf.h:
lib/report/treeview.h:
