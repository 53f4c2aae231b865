build-san/lib/walk/cfi_section.o: lib/walk/cfi_section.c \
 lib/walk/cfi_section.h lib/elf/elf_file.h
lib/walk/cfi_section.h:
lib/elf/elf_file.h:
