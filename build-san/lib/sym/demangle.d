build-san/lib/sym/demangle.o: lib/sym/demangle.c lib/sym/demangle.h \
 lib/base/buf.h
lib/sym/demangle.h:
lib/base/buf.h:
