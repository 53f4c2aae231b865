build-san/lib/store/chunk.o: lib/store/chunk.c lib/store/chunk.h \
 lib/base/buf.h
lib/store/chunk.h:
lib/base/buf.h:
