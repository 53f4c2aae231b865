build-san/lib/sym/symbolizer.o: lib/sym/symbolizer.c lib/sym/symbolizer.h \
 lib/elf/elf_file.h lib/sym/debug_file.h lib/sym/debuginfod.h \
 lib/sym/dwarf_names.h lib/sym/symtab.h lib/sym/unwind_bounds.h
lib/sym/symbolizer.h:
lib/elf/elf_file.h:
lib/sym/debug_file.h:
lib/sym/debuginfod.h:
lib/sym/dwarf_names.h:
lib/sym/symtab.h:
lib/sym/unwind_bounds.h:
