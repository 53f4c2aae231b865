build-san/lib/sym/plt.o: lib/sym/plt.c lib/sym/plt.h lib/elf/elf_file.h \
 lib/base/buf.h lib/sym/symtab.h
lib/sym/plt.h:
lib/elf/elf_file.h:
lib/base/buf.h:
lib/sym/symtab.h:
