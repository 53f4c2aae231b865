/* SPDX-License-Identifier: MIT */
/*
 * Maps an address to the innermost of the ranges that contain it. Symbols, units, functions and
 * inlined calls all need this, for ranges that nest and overlap.
 */
#ifndef SYM_RANGE_MAP_H
#define SYM_RANGE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range_map_range;
struct range_map_point;

/* Zero-initialised: empty. */
struct range_map {
	struct range_map_range *ranges; /* owned; until the map is sealed */
	size_t n_ranges, cap_ranges;
	struct range_map_point *points; /* owned; after that */
	size_t n_points;
};

/* Adds the range [start, end) with `value`, which is below UINT32_MAX. An empty range is ignored.
 * If several ranges contain an address, the innermost is the one that starts last; of several with
 * the same start, the one with the greatest rank. Returns 0 or -ENOMEM. */
int range_map_add(struct range_map *map, uint64_t start, uint64_t end, uint32_t value,
		  uint32_t rank);

/* Prepares the map for range_map_find(); nothing can be added after that. Returns 0 or -ENOMEM. */
int range_map_seal(struct range_map *map);

/* Gives the value of the innermost range that contains an address. Returns false if there is
 * none. */
bool range_map_find(const struct range_map *map, uint64_t address, uint32_t *ret_value);

void range_map_free(struct range_map *map); /* frees its contents, not `map` itself */

#endif
