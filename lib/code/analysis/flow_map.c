/* SPDX-License-Identifier: MIT */
/* Numbers instructions by counting bits; see flow_map.h. */
#include "analysis/flow_map.h"

#include <errno.h>
#include <stdlib.h>

#define WORD 64 /* bits */
/* Limit of the instructions that the first pass has not found: one for each BEYOND_SHARE bytes, and
 * BEYOND_FREE more. Chosen by hand, to bound memory; sane code has far fewer. */
#define BEYOND_SHARE 32
#define BEYOND_FREE  65536

static size_t words_of(const struct flow_map *map)
{
	return map->size / WORD + 1;
}

int flow_map_init(struct flow_map *map, const uint8_t *marks, uint8_t mark, uint32_t size)
{
	uint32_t count = 0;

	*map = (struct flow_map){.size = size};
	map->bits = calloc(words_of(map), sizeof(*map->bits));
	map->beyond = calloc(words_of(map), sizeof(*map->beyond));
	map->before = calloc(words_of(map), sizeof(*map->before));
	if (!map->bits || !map->beyond || !map->before)
		return -ENOMEM;
	for (uint32_t at = 0; at < size; at++) {
		if (at % WORD == 0)
			map->before[at / WORD] = count;
		if (!(marks[at] & mark))
			continue;
		map->bits[at / WORD] |= UINT64_C(1) << at % WORD;
		count++;
	}
	map->items = calloc((size_t)count + 1, sizeof(*map->items));
	return map->items ? 0 : -ENOMEM;
}

void flow_map_fini(struct flow_map *map)
{
	free(map->bits);
	free(map->beyond);
	free(map->before);
	free(map->items);
	free(map->beyond_items.items);
	int_map_fini(&map->beyond_numbers);
	*map = (struct flow_map){0};
}

struct flow_item *flow_map_find(const struct flow_map *map, uint32_t at)
{
	uint64_t bits, bit = UINT64_C(1) << at % WORD;

	if (at >= map->size)
		return NULL;
	bits = map->bits[at / WORD];
	if (bits & bit)
		return &map->items[map->before[at / WORD] +
				   (uint32_t)__builtin_popcountll(bits & (bit - 1))];
	if (!(map->beyond[at / WORD] & bit))
		return NULL;
	return &map->beyond_items.items[int_map_find(&map->beyond_numbers, at)];
}

struct flow_item *flow_map_enter(struct flow_map *map, uint32_t at)
{
	struct flow_item *found = flow_map_find(map, at);

	if (found || at >= map->size)
		return found;
	map->is_full |= map->beyond_items.count >= map->size / BEYOND_SHARE + BEYOND_FREE;
	if (map->is_full || VEC_RESERVE(&map->beyond_items, 1) ||
	    int_map_set(&map->beyond_numbers, at, (uint32_t)map->beyond_items.count))
		return NULL;
	map->beyond[at / WORD] |= UINT64_C(1) << at % WORD;
	found = &map->beyond_items.items[map->beyond_items.count++];
	*found = (struct flow_item){0};
	return found;
}
