/* SPDX-License-Identifier: MIT */
/* The inside of a compiled table, and how it is made from a plain list of rows. */
#ifndef UNWIND_RECIPE_TABLE_H
#define UNWIND_RECIPE_TABLE_H

#include "unwind/recipe.h"
#include "unwind/recipe_rows.h"
#include "unwind/recipe_rules.h"

struct recipe_others;

struct recipe_table {
	uint8_t *bytes;		 /* owned, as all members are; NULL: the rows are allocated by
				  * themselves */
	struct stackd_row *rows; /* owned, unless they are in `bytes` */
	size_t row_count;
	uint32_t *chunks; /* chunk_count + 1 entries */
	uint32_t first_chunk;
	size_t chunk_count;
	struct recipe_rules *rules;
	struct recipe_rows provenance; /* its "rules" are enum provenance; NONE: call frame
					* information */
	struct provenance_map *map;    /* recipe_table_build() makes it from `provenance` */
	struct recipe_stats stats;
	struct stackd_interpreter interpreter; /* version 0: the file has no interpreter */
	struct runtime_layout *layout;	       /* NULL: no runtime needs one */
};

/* Like recipe_section_compile(), for the sections of a file. Frees the bytes of each section as
 * soon as they have been read, so that they do not add to the memory of the rest, and counts the
 * sections that could not be read. If `others` has a file, also merges the rules of all other
 * sources (recipe_runtime.h, stack_start.h, recipe_analysis.h, stack_switch.h). The caller releases
 * `sections`. */
int recipe_section_compile_owned(const struct recipe_others *others, struct cfi_sections *sections,
				 const struct recipe_load *loads, size_t load_count,
				 struct recipe_table **ret_table);

/* Cuts a list of rows into chunks: fills table->rows and table->chunks. Returns 0 or -ENOMEM, with
 * a table that can be freed. */
int recipe_table_build(struct recipe_table *table, const struct recipe_rows *rows);

#endif
