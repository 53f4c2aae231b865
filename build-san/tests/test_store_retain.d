build-san/tests/test_store_retain: tests/unit/test_store_retain.c \
 tests/unit/store_fixture.h lib/base/hash.h lib/stack/location.h \
 lib/store/store_reader.h lib/store/store.h lib/stack/origin.h \
 lib/store/store_writer.h
tests/unit/store_fixture.h:
lib/base/hash.h:
lib/stack/location.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/store/store_writer.h:
