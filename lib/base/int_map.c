/* SPDX-License-Identifier: MIT */
/* A hash map from integers to 32-bit numbers; see int_map.h. */
#include "base/int_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

#define INT_MAP_FIRST 64u /* slots */

void int_map_fini(struct int_map *map)
{
	free(map->table);
	*map = (struct int_map){0};
}

void int_map_clear(struct int_map *map)
{
	if (map->used)
		memset(map->table, 0xff, map->slots * sizeof(*map->table));
	map->used = 0;
}

/* Finds the slot that holds a key, or the free one where it belongs. */
static struct int_map_slot *probe(const struct int_map *map, uint64_t key, uint32_t extra)
{
	size_t at = hash_mix64(key + extra * UINT64_C(0x9e3779b97f4a7c15)) & (map->slots - 1);

	while (map->table[at].value != INT_MAP_NONE &&
	       (map->table[at].key != key || map->table[at].extra != extra))
		at = (at + 1) & (map->slots - 1);
	return &map->table[at];
}

static int grow(struct int_map *map)
{
	struct int_map bigger = {.slots = map->slots ? map->slots * 2 : INT_MAP_FIRST,
				 .used = map->used};

	bigger.table = vec_alloc(bigger.slots, sizeof(*bigger.table));
	if (!bigger.table)
		return -ENOMEM;
	memset(bigger.table, 0xff, bigger.slots * sizeof(*bigger.table));
	for (size_t i = 0; i < map->slots; i++) {
		const struct int_map_slot *slot = &map->table[i];

		if (slot->value != INT_MAP_NONE)
			*probe(&bigger, slot->key, slot->extra) = *slot;
	}
	int_map_fini(map);
	*map = bigger;
	return 0;
}

uint32_t int_map_find_wide(const struct int_map *map, uint64_t key, uint32_t extra)
{
	return map->slots ? probe(map, key, extra)->value : INT_MAP_NONE;
}

/* Finds a key's slot, which is free if the map lacks the key; makes room for it. */
static int int_map_slot(struct int_map *map, uint64_t key, uint32_t extra,
			struct int_map_slot **ret_slot)
{
	if (map->used * 3 >= map->slots * 2) {
		int err = grow(map);

		if (err < 0)
			return err;
	}
	*ret_slot = probe(map, key, extra);
	return 0;
}

int int_map_enter_wide(struct int_map *map, uint64_t key, uint32_t extra, uint32_t value,
		       uint32_t *ret_value)
{
	struct int_map_slot *slot;
	int err = int_map_slot(map, key, extra, &slot);

	if (err < 0)
		return err;
	if (slot->value == INT_MAP_NONE) {
		*slot = (struct int_map_slot){key, extra, value};
		map->used++;
	}
	*ret_value = slot->value;
	return 0;
}

int int_map_set(struct int_map *map, uint64_t key, uint32_t value)
{
	struct int_map_slot *slot;
	int err = int_map_slot(map, key, 0, &slot);

	if (err < 0)
		return err;
	map->used += slot->value == INT_MAP_NONE;
	*slot = (struct int_map_slot){key, 0, value};
	return 0;
}
