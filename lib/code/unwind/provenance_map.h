/* SPDX-License-Identifier: MIT */
/*
 * Where the rules of a file come from (their provenance): the ranges of file offsets whose rules do
 * not come from call frame information. Most files have no such range, and no map.
 *
 * The map is made with a compiled table (recipe.h), and stays in memory when the table is evicted.
 * It takes eight bytes a range. Padding without rules may be given the provenance of the code
 * beside it, so that fewer ranges are needed.
 */
#ifndef UNWIND_PROVENANCE_MAP_H
#define UNWIND_PROVENANCE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "stack/provenance.h"
#include "unwind/recipe_rows.h"

#define PROVENANCE_MAP_MAX (1u << 16) /* ranges of a file */

struct provenance_map;

/* Makes the map of the ranges in `rows`, where a row's `rule` is an enum provenance; NONE (0) means
 * call frame information. *ret_map is NULL if all rows are NONE. If a file has more than
 * PROVENANCE_MAP_MAX ranges, all code after them gets the provenance of the last range that is not
 * CFI, so that too many of its steps are checked rather than too few. Returns 0 or -ENOMEM. The
 * caller frees *ret_map with provenance_map_free(). */
int provenance_map_new(const struct recipe_rows *rows, struct provenance_map **ret_map);
void provenance_map_free(struct provenance_map *map); /* NULL is fine */

/* Returns the provenance of the rule at a file offset, which must have a rule. `map` NULL: call
 * frame information. */
enum provenance provenance_map_at(const struct provenance_map *map, uint64_t offset);

/* Returns the number of ranges, including the ranges of call frame information between them; 0 if
 * `map` is NULL. */
size_t provenance_map_count(const struct provenance_map *map);

/* Gives the start and the provenance of range `i`, which is below the count. */
void provenance_map_range(const struct provenance_map *map, size_t i, uint32_t *ret_start,
			  uint8_t *ret_provenance);

#endif
