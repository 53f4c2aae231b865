build-san/lib/report/text.o: lib/report/text.c lib/report/text.h \
 lib/base/buf.h
lib/report/text.h:
lib/base/buf.h:
