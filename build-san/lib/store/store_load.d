build-san/lib/store/store_load.o: lib/store/store_load.c lib/base/hash.h \
 lib/stack/location.h lib/store/chunk.h lib/base/buf.h \
 lib/store/reader_state.h lib/store/store_db.h lib/store/table_codec.h \
 lib/base/vec.h lib/store/store.h lib/stack/origin.h \
 lib/store/store_reader.h
lib/base/hash.h:
lib/stack/location.h:
lib/store/chunk.h:
lib/base/buf.h:
lib/store/reader_state.h:
lib/store/store_db.h:
lib/store/table_codec.h:
lib/base/vec.h:
lib/store/store.h:
lib/stack/origin.h:
lib/store/store_reader.h:
