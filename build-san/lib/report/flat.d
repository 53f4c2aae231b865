build-san/lib/report/flat.o: lib/report/flat.c lib/report/flat.h \
 lib/report/calltree.h lib/report/profile.h lib/store/store_reader.h \
 lib/store/store.h lib/stack/origin.h lib/report/index.h
lib/report/flat.h:
lib/report/calltree.h:
lib/report/profile.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/report/index.h:
