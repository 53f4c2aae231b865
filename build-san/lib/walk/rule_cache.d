build-san/lib/walk/rule_cache.o: lib/walk/rule_cache.c \
 lib/walk/rule_cache.h lib/base/hash.h lib/walk/walk_rule.h \
 bpf/stackd_abi.h lib/walk/cfi_image.h lib/elf/elf_file.h
lib/walk/rule_cache.h:
lib/base/hash.h:
lib/walk/walk_rule.h:
bpf/stackd_abi.h:
lib/walk/cfi_image.h:
lib/elf/elf_file.h:
