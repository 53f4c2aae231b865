build-san/lib/elf/elf_file.o: lib/elf/elf_file.c lib/elf/elf_file.h \
 lib/base/hash.h lib/elf/elf_note.h
lib/elf/elf_file.h:
lib/base/hash.h:
lib/elf/elf_note.h:
