build-san/lib/sym/unwind_bounds.o: lib/sym/unwind_bounds.c \
 lib/sym/unwind_bounds.h lib/elf/elf_file.h
lib/sym/unwind_bounds.h:
lib/elf/elf_file.h:
