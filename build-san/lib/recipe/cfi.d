build-san/lib/recipe/cfi.o: lib/recipe/cfi.c lib/recipe/cfi.h \
 lib/recipe/cfi_reader.h lib/recipe/cfi_state.h lib/recipe/recipe.h \
 lib/elf/elf_file.h bpf/stackd_abi.h lib/recipe/cfi_machine.h
lib/recipe/cfi.h:
lib/recipe/cfi_reader.h:
lib/recipe/cfi_state.h:
lib/recipe/recipe.h:
lib/elf/elf_file.h:
bpf/stackd_abi.h:
lib/recipe/cfi_machine.h:
