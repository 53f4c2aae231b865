build-san/lib/report/index.o: lib/report/index.c lib/report/index.h \
 lib/base/hash.h
lib/report/index.h:
lib/base/hash.h:
