build-san/lib/recipe/cfi_state.o: lib/recipe/cfi_state.c \
 lib/recipe/cfi_state.h lib/recipe/recipe.h lib/elf/elf_file.h \
 bpf/stackd_abi.h
lib/recipe/cfi_state.h:
lib/recipe/recipe.h:
lib/elf/elf_file.h:
bpf/stackd_abi.h:
