build-san/lib/base/buf.o: lib/base/buf.c lib/base/buf.h
lib/base/buf.h:
