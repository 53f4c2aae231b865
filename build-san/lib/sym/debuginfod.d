build-san/lib/sym/debuginfod.o: lib/sym/debuginfod.c lib/sym/debuginfod.h
lib/sym/debuginfod.h:
