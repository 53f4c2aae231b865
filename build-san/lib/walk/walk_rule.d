build-san/lib/walk/walk_rule.o: lib/walk/walk_rule.c lib/walk/walk_rule.h \
 bpf/stackd_abi.h lib/walk/cfi_image.h lib/elf/elf_file.h
lib/walk/walk_rule.h:
bpf/stackd_abi.h:
lib/walk/cfi_image.h:
lib/elf/elf_file.h:
