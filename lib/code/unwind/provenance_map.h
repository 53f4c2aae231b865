/* SPDX-License-Identifier: MIT */
/*
 * A file's rules by provenance: the ranges of file offsets whose rules do not come from call frame
 * information. Most files have no such range, and no map.
 *
 * The map is made with a compiled table (recipe.h), and stays when the table is evicted. It takes
 * eight bytes a range. Padding without rules may be given the provenance of its neighbours, which
 * joins ranges.
 */
#ifndef UNWIND_PROVENANCE_MAP_H
#define UNWIND_PROVENANCE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "stack/provenance.h"
#include "unwind/recipe_rows.h"

#define PROVENANCE_MAP_MAX (1u << 16) /* ranges of a file */

struct provenance_map;

/* Makes the map of the ranges in `rows`, whose rules are enum provenance; NONE (0) means call frame
 * information. *ret_map is NULL if that is all. If a file has more than PROVENANCE_MAP_MAX ranges,
 * all code after them gets the provenance of the last range that is not CFI: too many of its steps
 * are checked, rather than too few. Returns 0 or -ENOMEM. The caller frees *ret_map with
 * provenance_map_free(). */
int provenance_map_new(const struct recipe_rows *rows, struct provenance_map **ret_map);
void provenance_map_free(struct provenance_map *map); /* NULL is fine */

/* Returns the provenance of the rule at a file offset that has a rule; `map` NULL: it is CFI. */
enum provenance provenance_map_at(const struct provenance_map *map, uint64_t offset);

/* Returns the number of ranges, including those of CFI between them; 0 if `map` is NULL. */
size_t provenance_map_count(const struct provenance_map *map);

/* Gives the range of a number below the count: its start, and its provenance. */
void provenance_map_range(const struct provenance_map *map, size_t i, uint32_t *ret_start,
			  uint8_t *ret_provenance);

#endif
