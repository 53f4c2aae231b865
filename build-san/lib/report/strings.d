build-san/lib/report/strings.o: lib/report/strings.c lib/report/strings.h
lib/report/strings.h:
