/* SPDX-License-Identifier: MIT */
/*
 * The data that flow (solve.h) keeps for each instruction, by the byte at which it begins. Most
 * instructions begin where the first pass (code.h) has found an instruction, at about every fourth
 * byte. Such an instruction's number is the count of instructions that the first pass has found
 * before it.
 *
 *   bits    0010 0100 ...   one for each byte; before[] of 64 + lower bits = number in items[]
 *   beyond                  the same for bytes at which only flow has found an instruction
 */
#ifndef ANALYSIS_FLOW_MAP_H
#define ANALYSIS_FLOW_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/int_map.h"
#include "base/vec.h"

struct flow_item {
	uint32_t state : 24; /* of states.h; 0: no path has reached it */
	uint32_t visits : 8;
	uint32_t owner; /* of owners.h */
};

struct flow_map {      /* zeroed can be freed */
	uint32_t size; /* bytes of code */
	bool is_full;  /* flow has found more instructions outside of the first pass's than sane
			* code has */
	uint64_t *bits, *beyond;
	uint32_t *before;
	struct flow_item *items;
	struct int_map beyond_numbers; /* of beyond_items, by byte */
	VEC(struct flow_item) beyond_items;
};

/* Makes a map of `size` bytes of code. The bytes with `mark` in marks[] get a number. Returns 0 or
 * -ENOMEM; the caller frees *ret_map with flow_map_fini() in either case. */
int flow_map_init(struct flow_map *ret_map, const uint8_t *marks, uint8_t mark, uint32_t size);
void flow_map_fini(struct flow_map *map);

/* Returns the item of byte `at`, to be changed; it is valid until the next flow_map_enter(). NULL:
 * it has none, since no path has reached it. */
struct flow_item *flow_map_find(const struct flow_map *map, uint32_t at);

/* Like flow_map_find(), but adds an item of zeroes for a byte that has none. Returns NULL if there
 * is no memory, or the map is full. */
struct flow_item *flow_map_enter(struct flow_map *map, uint32_t at);

/* Returns a copy of the item of byte `at`; zeroes if it has none. */
static inline struct flow_item flow_map_get(const struct flow_map *map, uint32_t at)
{
	const struct flow_item *item = flow_map_find(map, at);

	return item ? *item : (struct flow_item){0};
}

#endif
