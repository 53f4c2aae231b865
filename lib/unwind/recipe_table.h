/* SPDX-License-Identifier: MIT */
/*
 * The compiled table's inside, and how it is made from a plain list of rows.
 */
#ifndef UNWIND_RECIPE_TABLE_H
#define UNWIND_RECIPE_TABLE_H

#include "unwind/recipe.h"
#include "unwind/recipe_places.h"
#include "unwind/recipe_rules.h"

struct recipe_table {
	struct stackd_row *rows;
	size_t row_count;
	uint32_t *chunks; /* chunk_count + 1 entries */
	uint32_t first_chunk;
	size_t chunk_count;
	struct recipe_rules *rules;
	struct recipe_stats stats;
};

/* Adds to the table's counts, an array of RECIPE_REFUSED_COUNT. */
void recipe_table_count_refused(struct recipe_table *table, const uint64_t *refused);

/* recipe_section_compile() of sections whose bytes are malloc()ed, each in bytes[]: frees what has
 * been read as soon as it has, before the rest takes its memory. */
int recipe_section_compile_owned(const struct recipe_section *sections, uint8_t **bytes,
				 size_t section_count, const struct recipe_segment *segments,
				 size_t segment_count, struct recipe_table **ret_table);

/* Fills table->rows and table->chunks. 0 or -ENOMEM. */
int recipe_table_build(struct recipe_table *table, const struct recipe_places *places);

#endif
