/* SPDX-License-Identifier: MIT */
/*
 * A hash index: an open-addressing table of 32-bit numbers, which are positions in an array of its
 * owner.
 *
 * The entries live in the owner's array, and only the owner can hash and compare them. The index
 * has the slots alone: each is 0 (free) or an entry's number + 1. Probing is linear, entries are
 * never removed, and the table doubles at a load of 0.7, so the index costs 6 to 12 bytes an entry.
 * The owner refills a grown table in order of entry number: entries with equal hashes then always
 * follow each other along the probe in the order of their age.
 *
 * Marked slots: a number + 1 never exceeds the mask, so the bits above it are free. An owner whose
 * entries are large and often looked up in vain keeps bits of the hash there (hash_index_mark())
 * and reads an entry only where they agree, so that the other entries along a probe stay out of the
 * cache.
 *
 * Why not base/int_map.h: an int_map holds the key in the slot, takes 16 bytes for it, and treats
 * equal keys as one. The keys here (a path, a string, the runs of an origin) do not fit into a
 * slot, stand in the owner's array already, and two of them may share a hash: a trie that merged
 * them would put time into a path that was never taken. Rejected as well: more bits of the hash in
 * slots of 64 bits (twice the memory, for probes that hardly ever read an entry in vain now), and
 * uthash (56 bytes of handle for a 16-byte node).
 */
#ifndef BASE_HASH_INDEX_H
#define BASE_HASH_INDEX_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/big.h"

struct hash_index {
	uint32_t *slot; /* The owner frees it; NULL before the first hash_index_grow(). */
	size_t mask;	/* number of slots - 1, a power of two minus 1 */
	size_t used;	/* entries */
};

#define HASH_INDEX_FIRST 64u

/* Returns whether one more entry would load the table beyond 0.7, or there is no table yet. The
 * owner then grows it before the next hash_index_put(). */
static inline bool hash_index_full(const struct hash_index *s)
{
	return !s->slot || (s->used + 1) * 10 > (s->mask + 1) * 7;
}

/* Makes `ret_grown` an empty table of twice the size, whose slots the caller frees with free().
 * The caller enters all its entries anew and frees the old slots. Returns 0 or -ENOMEM. */
static inline int hash_index_grow(const struct hash_index *s, struct hash_index *ret_grown)
{
	size_t n = s->slot ? (s->mask + 1) * 2 : HASH_INDEX_FIRST;
	uint32_t *slot = big_calloc(n, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	*ret_grown = (struct hash_index){.slot = slot, .mask = n - 1};
	return 0;
}

/* Enters a number at the first free slot of its probe. The table must not be full, and the index
 * does not check whether it has the entry already. */
static inline void hash_index_put(struct hash_index *s, uint64_t hash, uint32_t number)
{
	size_t at = hash & s->mask;

	while (s->slot[at])
		at = (at + 1) & s->mask;
	s->slot[at] = number + 1;
	s->used++;
}

/* --- marked slots ---------------------------------------------------------------------------- */

/* Returns the bits of a hash that a marked slot of this table keeps. They change as it grows. */
static inline uint32_t hash_index_mark(const struct hash_index *s, uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ~(uint32_t)s->mask;
}

/* Does what hash_index_put() does, and keeps the mark of the hash in the slot. */
static inline void hash_index_put_marked(struct hash_index *s, uint64_t hash, uint32_t number)
{
	hash_index_put(s, hash, hash_index_mark(s, hash) | number);
}

/* Returns whether a slot that is not free may hold the entry with this mark. */
static inline bool hash_index_agrees(const struct hash_index *s, uint32_t slot, uint32_t mark)
{
	return (slot & ~(uint32_t)s->mask) == mark;
}

/* Returns the entry's number in a marked slot that is not free. */
static inline uint32_t hash_index_number(const struct hash_index *s, uint32_t slot)
{
	return (slot & (uint32_t)s->mask) - 1;
}

/* Returns the size of the slots in bytes. */
static inline size_t hash_index_bytes(const struct hash_index *s)
{
	return s->slot ? (s->mask + 1) * sizeof(*s->slot) : 0;
}

#endif
