build-san/lib/recipe/recipe.o: lib/recipe/recipe.c lib/recipe/recipe.h \
 lib/elf/elf_file.h bpf/stackd_abi.h lib/recipe/recipe_table.h \
 lib/recipe/recipe_rules.h
lib/recipe/recipe.h:
lib/elf/elf_file.h:
bpf/stackd_abi.h:
lib/recipe/recipe_table.h:
lib/recipe/recipe_rules.h:
