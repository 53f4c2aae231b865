build-san/lib/recipe/cfi_expression.o: lib/recipe/cfi_expression.c \
 lib/recipe/cfi_expression.h lib/recipe/cfi_reader.h \
 lib/recipe/cfi_state.h lib/recipe/recipe.h lib/elf/elf_file.h \
 bpf/stackd_abi.h
lib/recipe/cfi_expression.h:
lib/recipe/cfi_reader.h:
lib/recipe/cfi_state.h:
lib/recipe/recipe.h:
lib/elf/elf_file.h:
bpf/stackd_abi.h:
