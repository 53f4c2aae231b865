build-san/lib/walk/walk_step.o: lib/walk/walk_step.c lib/walk/walk_step.h \
 bpf/stackd_abi.h lib/walk/walk_rule.h lib/walk/cfi_image.h \
 lib/elf/elf_file.h lib/walk/dwarf_expr.h
lib/walk/walk_step.h:
bpf/stackd_abi.h:
lib/walk/walk_rule.h:
lib/walk/cfi_image.h:
lib/elf/elf_file.h:
lib/walk/dwarf_expr.h:
