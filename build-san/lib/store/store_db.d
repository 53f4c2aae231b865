build-san/lib/store/store_db.o: lib/store/store_db.c lib/store/store_db.h \
 lib/store/table_codec.h lib/base/buf.h lib/base/vec.h lib/store/store.h \
 lib/stack/origin.h
lib/store/store_db.h:
lib/store/table_codec.h:
lib/base/buf.h:
lib/base/vec.h:
lib/store/store.h:
lib/stack/origin.h:
