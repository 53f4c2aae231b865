build-san/lib/sym/range_map.o: lib/sym/range_map.c lib/sym/range_map.h
lib/sym/range_map.h:
