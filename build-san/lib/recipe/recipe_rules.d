build-san/lib/recipe/recipe_rules.o: lib/recipe/recipe_rules.c \
 lib/recipe/recipe_rules.h lib/recipe/recipe.h lib/elf/elf_file.h \
 bpf/stackd_abi.h lib/base/hash.h
lib/recipe/recipe_rules.h:
lib/recipe/recipe.h:
lib/elf/elf_file.h:
bpf/stackd_abi.h:
lib/base/hash.h:
