build-san/lib/store/store_path.o: lib/store/store_path.c \
 lib/store/store_path.h
lib/store/store_path.h:
