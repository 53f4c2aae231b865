build-san/lib/store/sample_codec.o: lib/store/sample_codec.c \
 lib/store/sample_codec.h lib/base/buf.h lib/store/store.h \
 lib/stack/origin.h lib/store/chunk.h
lib/store/sample_codec.h:
lib/base/buf.h:
lib/store/store.h:
lib/stack/origin.h:
lib/store/chunk.h:
