build-san/lib/walk/cfi_image.o: lib/walk/cfi_image.c lib/walk/cfi_image.h \
 lib/elf/elf_file.h lib/walk/cfi_check.h lib/walk/cfi_section.h
lib/walk/cfi_image.h:
lib/elf/elf_file.h:
lib/walk/cfi_check.h:
lib/walk/cfi_section.h:
