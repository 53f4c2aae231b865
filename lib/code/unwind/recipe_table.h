/* SPDX-License-Identifier: MIT */
/* The inside of a compiled table, and how it is made from a plain list of rows. */
#ifndef UNWIND_RECIPE_TABLE_H
#define UNWIND_RECIPE_TABLE_H

#include "unwind/recipe.h"
#include "unwind/recipe_rows.h"
#include "unwind/recipe_rules.h"

struct recipe_others;

struct recipe_table {
	uint8_t *bytes;		 /* owned, as all below; NULL unless the rows are in it */
	struct stackd_row *rows; /* owned, unless they are in `bytes` */
	size_t row_count;
	uint32_t *chunks; /* chunk_count + 1 entries */
	uint32_t first_chunk;
	size_t chunk_count;
	struct recipe_rules *rules;
	struct recipe_rows provenance; /* enum provenance; NONE: of call frame information */
	struct provenance_map *map;    /* made of it by recipe_table_build() */
	struct recipe_stats stats;
};

/* As recipe_section_compile(), for the sections of a file: frees the bytes of each as soon as they
 * have been read, before the rest takes its memory, and counts what kept sections from being read.
 * If `others` has a file, lays its runtime's table below them (recipe_runtime.h), and analyses
 * the code that they do not cover (recipe_analysis.h). The caller releases `sections`. */
int recipe_section_compile_owned(const struct recipe_others *others, struct cfi_sections *sections,
				 const struct recipe_load *loads, size_t load_count,
				 struct recipe_table **ret_table);

/* Cuts a list of rows into chunks: fills table->rows and table->chunks. Returns 0 or -ENOMEM, with
 * a table that can be freed. */
int recipe_table_build(struct recipe_table *table, const struct recipe_rows *rows);

#endif
