build-san/lib/store/store_reader.o: lib/store/store_reader.c \
 lib/store/store_reader.h lib/store/store.h lib/stack/origin.h \
 bpf/stackd_abi.h lib/store/reader_state.h lib/store/store_db.h \
 lib/store/table_codec.h lib/base/buf.h lib/base/vec.h \
 lib/store/sample_codec.h
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
bpf/stackd_abi.h:
lib/store/reader_state.h:
lib/store/store_db.h:
lib/store/table_codec.h:
lib/base/buf.h:
lib/base/vec.h:
lib/store/sample_codec.h:
