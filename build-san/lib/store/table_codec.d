build-san/lib/store/table_codec.o: lib/store/table_codec.c \
 lib/store/table_codec.h lib/base/buf.h lib/base/vec.h lib/store/store.h \
 lib/stack/origin.h
lib/store/table_codec.h:
lib/base/buf.h:
lib/base/vec.h:
lib/store/store.h:
lib/stack/origin.h:
