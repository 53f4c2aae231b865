build-san/lib/store/node_coder.o: lib/store/node_coder.c \
 lib/store/table_codec.h lib/base/buf.h lib/base/vec.h lib/store/store.h \
 lib/stack/origin.h
lib/store/table_codec.h:
lib/base/buf.h:
lib/base/vec.h:
lib/store/store.h:
lib/stack/origin.h:
