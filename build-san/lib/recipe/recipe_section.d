build-san/lib/recipe/recipe_section.o: lib/recipe/recipe_section.c \
 lib/recipe/cfi_machine.h lib/recipe/cfi.h lib/recipe/cfi_reader.h \
 lib/recipe/cfi_state.h lib/recipe/recipe.h lib/elf/elf_file.h \
 bpf/stackd_abi.h lib/recipe/recipe_table.h lib/recipe/recipe_rules.h
lib/recipe/cfi_machine.h:
lib/recipe/cfi.h:
lib/recipe/cfi_reader.h:
lib/recipe/cfi_state.h:
lib/recipe/recipe.h:
lib/elf/elf_file.h:
bpf/stackd_abi.h:
lib/recipe/recipe_table.h:
lib/recipe/recipe_rules.h:
