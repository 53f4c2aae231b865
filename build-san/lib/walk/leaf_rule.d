build-san/lib/walk/leaf_rule.o: lib/walk/leaf_rule.c lib/walk/leaf_rule.h \
 lib/elf/elf_file.h lib/walk/cfi_image.h lib/walk/walk_rule.h \
 bpf/stackd_abi.h
lib/walk/leaf_rule.h:
lib/elf/elf_file.h:
lib/walk/cfi_image.h:
lib/walk/walk_rule.h:
bpf/stackd_abi.h:
