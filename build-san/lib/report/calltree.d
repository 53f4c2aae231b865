build-san/lib/report/calltree.o: lib/report/calltree.c \
 lib/report/calltree.h lib/report/profile.h lib/store/store_reader.h \
 lib/store/store.h lib/stack/origin.h lib/report/index.h
lib/report/calltree.h:
lib/report/profile.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/report/index.h:
