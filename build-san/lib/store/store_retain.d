build-san/lib/store/store_retain.o: lib/store/store_retain.c \
 lib/store/writer_state.h lib/store/chunk.h lib/base/buf.h \
 lib/store/store_db.h lib/store/table_codec.h lib/base/vec.h \
 lib/store/store.h lib/stack/origin.h lib/store/store_names.h \
 lib/stack/slots.h lib/store/store_writer.h
lib/store/writer_state.h:
lib/store/chunk.h:
lib/base/buf.h:
lib/store/store_db.h:
lib/store/table_codec.h:
lib/base/vec.h:
lib/store/store.h:
lib/stack/origin.h:
lib/store/store_names.h:
lib/stack/slots.h:
lib/store/store_writer.h:
