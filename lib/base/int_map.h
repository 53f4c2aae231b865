/* SPDX-License-Identifier: MIT */
/*
 * A hash map from integers to 32-bit numbers, mostly indexes into an array of its owner.
 *
 * Keys have 64 bits; the functions named _wide take 32 more bits, for keys of three numbers. The
 * map uses open addressing with linear probing over one array, at most two thirds full, so a
 * look-up costs one cache miss, and a million keys take 32 MB. The 32 extra bits lie where a slot
 * of a 64-bit key and a 32-bit value would be padded.
 *
 * uthash was rejected: it needs an allocation and some 80 bytes for each key. The tables of
 * base/hash_index.h hold numbers alone, where the owner's array has the keys already.
 */
#ifndef BASE_INT_MAP_H
#define BASE_INT_MAP_H

#include <stddef.h>
#include <stdint.h>

struct int_map_slot {
	uint64_t key;
	uint32_t extra; /* the key's other 32 bits */
	uint32_t value; /* INT_MAP_NONE marks a free slot. */
};

/* A zeroed struct is an empty map. */
struct int_map {
	struct int_map_slot *table;
	size_t slots; /* a power of two, or 0 */
	size_t used;
};

#define INT_MAP_NONE UINT32_MAX /* No key may have this value. */

/* Frees the table and leaves an empty map. */
void int_map_fini(struct int_map *map);

/* Removes all keys and keeps the memory. */
void int_map_clear(struct int_map *map);

/* Returns the value of a key; INT_MAP_NONE if the map lacks it. */
uint32_t int_map_find_wide(const struct int_map *map, uint64_t key, uint32_t extra);

/* Enters a key with a value unless the map has it already. `ret_value` receives the value that the
 * key has afterwards. Returns 0 or -ENOMEM. */
int int_map_enter_wide(struct int_map *map, uint64_t key, uint32_t extra, uint32_t value,
		       uint32_t *ret_value);

/* Sets the value of a key, whether the map had it or not. Returns 0 or -ENOMEM. */
int int_map_set(struct int_map *map, uint64_t key, uint32_t value);

/* int_map_find_wide() for a key of 64 bits. */
static inline uint32_t int_map_find(const struct int_map *map, uint64_t key)
{
	return int_map_find_wide(map, key, 0);
}

/* int_map_enter_wide() for a key of 64 bits. */
static inline int int_map_enter(struct int_map *map, uint64_t key, uint32_t value,
				uint32_t *ret_value)
{
	return int_map_enter_wide(map, key, 0, value, ret_value);
}

#endif
