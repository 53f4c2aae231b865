build-san/lib/store/store_names.o: lib/store/store_names.c \
 lib/store/store_names.h lib/base/buf.h lib/stack/slots.h \
 lib/store/table_codec.h lib/base/vec.h lib/store/store.h \
 lib/stack/origin.h lib/base/hash.h
lib/store/store_names.h:
lib/base/buf.h:
lib/stack/slots.h:
lib/store/table_codec.h:
lib/base/vec.h:
lib/store/store.h:
lib/stack/origin.h:
lib/base/hash.h:
