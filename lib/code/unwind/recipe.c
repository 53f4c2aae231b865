/* SPDX-License-Identifier: MIT */
/* Compiles the recipes of an ELF file from its call frame sections and the program headers of its
 * code; see recipe.h. */
#include "unwind/recipe.h"

#include "unwind/recipe_analysis.h"
#include "unwind/recipe_table.h"

/* Lists the executable program headers, and one more than the limit if there are more, so that this
 * is noticed. */
static size_t find_loads(const struct elf_file *file, struct recipe_load *ret_loads)
{
	size_t count, n = 0;
	const Elf64_Phdr *p = elf_file_program_headers(file, &count);

	for (size_t i = 0; i < count && n <= RECIPE_MAX_LOADS; i++) {
		if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X)
			ret_loads[n++] = (struct recipe_load){
				.vaddr = p[i].p_vaddr,
				.offset = p[i].p_offset,
				.size = p[i].p_filesz,
			};
	}
	return n;
}

static int compile(const struct elf_file *file, const struct recipe_others *others,
		   struct recipe_table **ret_table)
{
	struct recipe_load loads[RECIPE_MAX_LOADS + 1];
	const struct recipe_others none = {0};
	bool is_32bit = elf_file_is_32bit(file);
	size_t load_count = is_32bit ? 0 : find_loads(file, loads);
	struct cfi_sections sections;
	int err = cfi_section_read(file, &sections);

	if (err)
		return err;
	err = recipe_section_compile_owned(is_32bit ? &none : others, &sections, loads, load_count,
					   ret_table);
	cfi_section_release(&sections);
	return err;
}

int recipe_compile_until(const struct elf_file *file, const struct analysis_stop *stop,
			 struct recipe_table **ret_table)
{
	const struct recipe_others others = {.file = file, .stop = *stop};

	return compile(file, &others, ret_table);
}

int recipe_compile_within(const struct elf_file *file, uint64_t most_bytes,
			  struct recipe_table **ret_table)
{
	const struct recipe_others others = {.file = file, .most_bytes = most_bytes};

	return compile(file, &others, ret_table);
}

int recipe_compile(const struct elf_file *file, struct recipe_table **ret_table)
{
	return recipe_compile_until(file, &(struct analysis_stop){0}, ret_table);
}

int recipe_compile_quick(const struct elf_file *file, struct recipe_table **ret_table)
{
	return compile(file, &(struct recipe_others){.file = file, .is_quick = true}, ret_table);
}

int recipe_compile_cfi(const struct elf_file *file, struct recipe_table **ret_table)
{
	return compile(file, &(struct recipe_others){0}, ret_table);
}
