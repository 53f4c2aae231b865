/* SPDX-License-Identifier: MIT */
/*
 * The compiled table's inside, and how it is made from a plain list of rows.
 */
#ifndef RECIPE_RECIPE_TABLE_H
#define RECIPE_RECIPE_TABLE_H

#include "recipe/recipe.h"
#include "recipe/recipe_rules.h"

struct recipe_table {
	struct stackd_row *rows;
	size_t row_count;
	uint32_t *chunks; /* chunk_count + 1 entries */
	uint32_t first_chunk;
	size_t chunk_count;
	struct recipe_rules *rules;
	struct recipe_stats stats;
};

/* Before rows are cut into chunks: a rule holds from its offset to the next row's. */
struct recipe_place {
	uint32_t offset;
	uint16_t rule;
};

struct recipe_places {
	struct recipe_place *array; /* sorted; neighbours differ in offset and rule */
	size_t count, cap;
};

void recipe_places_free(struct recipe_places *places);

/* Adds a place; offsets must not fall. A place at the offset of the last replaces it, and one
 * with the rule of the last is left out. 0 or -ENOMEM. */
int recipe_places_add(struct recipe_places *places, uint32_t offset, uint16_t rule);

/* Replaces `upper` by what results where it lies over `lower`: its rules, and lower's where it
 * has NONE. 0 or -ENOMEM. */
int recipe_places_overlay(struct recipe_places *upper, const struct recipe_places *lower);

/* Adds to the table's counts, an array of RECIPE_REFUSED_COUNT. */
void recipe_table_count_refused(struct recipe_table *table, const uint64_t *refused);

/* Fills table->rows and table->chunks. 0 or -ENOMEM. */
int recipe_table_build(struct recipe_table *table, const struct recipe_places *places);

#endif
