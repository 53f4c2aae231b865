build-san/lib/elf/elf_note.o: lib/elf/elf_note.c lib/elf/elf_note.h \
 lib/elf/elf_file.h
lib/elf/elf_note.h:
lib/elf/elf_file.h:
