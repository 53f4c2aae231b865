build-san/lib/stack/location.o: lib/stack/location.c lib/stack/location.h \
 lib/base/hash.h lib/stack/slots.h
lib/stack/location.h:
lib/base/hash.h:
lib/stack/slots.h:
