build-san/tests/test_chunk: tests/unit/test_chunk.c \
 tests/unit/store_fixture.h lib/base/hash.h lib/stack/location.h \
 lib/store/store_reader.h lib/store/store.h lib/stack/origin.h \
 lib/store/store_writer.h lib/store/chunk.h lib/base/buf.h \
 lib/store/sample_codec.h lib/store/table_codec.h lib/base/vec.h
tests/unit/store_fixture.h:
lib/base/hash.h:
lib/stack/location.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/store/store_writer.h:
lib/store/chunk.h:
lib/base/buf.h:
lib/store/sample_codec.h:
lib/store/table_codec.h:
lib/base/vec.h:
