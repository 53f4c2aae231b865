build-san/lib/walk/dwarf_walk.o: lib/walk/dwarf_walk.c \
 lib/walk/dwarf_walk.h lib/proc/object.h lib/elf/elf_file.h \
 bpf/stackd_abi.h lib/walk/call_site.h lib/walk/leaf_rule.h \
 lib/walk/cfi_image.h lib/walk/walk_rule.h lib/walk/rule_cache.h \
 lib/base/hash.h lib/walk/walk_step.h
lib/walk/dwarf_walk.h:
lib/proc/object.h:
lib/elf/elf_file.h:
bpf/stackd_abi.h:
lib/walk/call_site.h:
lib/walk/leaf_rule.h:
lib/walk/cfi_image.h:
lib/walk/walk_rule.h:
lib/walk/rule_cache.h:
lib/base/hash.h:
lib/walk/walk_step.h:
