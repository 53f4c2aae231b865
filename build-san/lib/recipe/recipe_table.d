build-san/lib/recipe/recipe_table.o: lib/recipe/recipe_table.c \
 lib/recipe/recipe_table.h lib/recipe/recipe.h lib/elf/elf_file.h \
 bpf/stackd_abi.h lib/recipe/recipe_rules.h
lib/recipe/recipe_table.h:
lib/recipe/recipe.h:
lib/elf/elf_file.h:
bpf/stackd_abi.h:
lib/recipe/recipe_rules.h:
