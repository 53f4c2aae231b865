build-san/lib/sym/dwarf_names.o: lib/sym/dwarf_names.c \
 lib/sym/dwarf_names.h lib/elf/elf_file.h lib/sym/debug_file.h \
 lib/sym/debuginfod.h lib/sym/range_map.h
lib/sym/dwarf_names.h:
lib/elf/elf_file.h:
lib/sym/debug_file.h:
lib/sym/debuginfod.h:
lib/sym/range_map.h:
