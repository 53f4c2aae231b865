build-san/lib/sym/debug_file.o: lib/sym/debug_file.c lib/sym/debug_file.h \
 lib/elf/elf_file.h lib/sym/debuginfod.h
lib/sym/debug_file.h:
lib/elf/elf_file.h:
lib/sym/debuginfod.h:
