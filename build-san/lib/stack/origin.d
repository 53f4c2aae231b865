build-san/lib/stack/origin.o: lib/stack/origin.c lib/stack/origin.h \
 lib/base/hash.h lib/base/vec.h lib/stack/slots.h
lib/stack/origin.h:
lib/base/hash.h:
lib/base/vec.h:
lib/stack/slots.h:
