build-san/lib/sym/symtab.o: lib/sym/symtab.c lib/sym/symtab.h \
 lib/elf/elf_file.h lib/sym/plt.h lib/sym/range_map.h \
 lib/sym/unwind_bounds.h
lib/sym/symtab.h:
lib/elf/elf_file.h:
lib/sym/plt.h:
lib/sym/range_map.h:
lib/sym/unwind_bounds.h:
