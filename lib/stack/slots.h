/* SPDX-License-Identifier: MIT */
/*
 * The index under the location table and the trie: an open-addressing table of 32-bit numbers.
 *
 * The entries themselves live in an array of their owner's, which knows how to hash and compare
 * them; here are only the slots, each 0 (empty) or entry number + 1. Probing is linear, nothing
 * is ever removed, and the table doubles at a load of 0.7, so the index costs 6 to 12 bytes an
 * entry. The owner refills a grown table in order of entry number: entries with equal hashes then
 * always stand in the order of their age along the probe.
 *
 * Marked slots: a number + 1 is never above the mask, so the bits above it are free. An owner whose
 * entries are large and often asked for in vain keeps bits of the hash there (slots_mark()), and
 * looks at an entry only where they agree: what stands at the other slots of a probe stays out of
 * the cache.
 *
 * Rejected: more bits of the hash in slots of 64 bits (twice the memory, for probes that hardly
 * ever touch an entry in vain now), and uthash (56 bytes of handle for a 16-byte node).
 */
#ifndef STACK_SLOTS_H
#define STACK_SLOTS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/big.h"

struct slots {
	uint32_t *slot; /* owned; NULL before the first slots_grow() */
	size_t mask;	/* slots - 1, a power of two minus 1 */
	size_t used;
};

#define SLOTS_FIRST 64u

/* Whether one more entry would load the table beyond 0.7. */
static inline bool slots_full(const struct slots *s)
{
	return !s->slot || (s->used + 1) * 10 > (s->mask + 1) * 7;
}

/* Makes `ret_grown` an empty table of twice the size. 0 or -ENOMEM. */
static inline int slots_grow(const struct slots *s, struct slots *ret_grown)
{
	size_t n = s->slot ? (s->mask + 1) * 2 : SLOTS_FIRST;
	uint32_t *slot = big_calloc(n, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	*ret_grown = (struct slots){.slot = slot, .mask = n - 1};
	return 0;
}

/* Enters a number at the first empty slot of its probe. The table must not be full. */
static inline void slots_put(struct slots *s, uint64_t hash, uint32_t number)
{
	size_t at = hash & s->mask;

	while (s->slot[at])
		at = (at + 1) & s->mask;
	s->slot[at] = number + 1;
	s->used++;
}

/* --- marked slots ---------------------------------------------------------------------------- */

static inline uint32_t slots_mark(const struct slots *s, uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ~(uint32_t)s->mask;
}

/* slots_put() with the mark. */
static inline void slots_put_marked(struct slots *s, uint64_t hash, uint32_t number)
{
	slots_put(s, hash, slots_mark(s, hash) | number);
}

/* Whether a slot that is not empty may hold the entry with this mark. */
static inline bool slots_agree(const struct slots *s, uint32_t slot, uint32_t mark)
{
	return (slot & ~(uint32_t)s->mask) == mark;
}

static inline uint32_t slots_number(const struct slots *s, uint32_t slot)
{
	return (slot & (uint32_t)s->mask) - 1;
}

static inline size_t slots_bytes(const struct slots *s)
{
	return s->slot ? (s->mask + 1) * sizeof(*s->slot) : 0;
}

#endif
