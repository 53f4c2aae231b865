build-san/lib/sym/kallsyms.o: lib/sym/kallsyms.c lib/sym/kallsyms.h \
 lib/base/buf.h lib/elf/elf_note.h lib/elf/elf_file.h
lib/sym/kallsyms.h:
lib/base/buf.h:
lib/elf/elf_note.h:
lib/elf/elf_file.h:
