build-san/lib/report/groups.o: lib/report/groups.c lib/report/groups.h \
 lib/report/profile.h lib/store/store_reader.h lib/store/store.h \
 lib/stack/origin.h
lib/report/groups.h:
lib/report/profile.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
