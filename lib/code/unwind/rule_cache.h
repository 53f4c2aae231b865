/* SPDX-License-Identifier: MIT */
/*
 * Rules by (object number, file offset): an open-addressing table with linear probing.
 *
 * It grows with use up to RULE_CACHE_MAX_SLOTS. When three quarters of these are used, or the slow
 * rules take more than RULE_CACHE_MAX_SLOW_BYTES, it is emptied. Programs walk a few thousand
 * return addresses over and over, so that is rare. Refilling costs a microsecond a rule, which is
 * less than to keep the rules in order of use, in order to evict single rules.
 */
#ifndef UNWIND_RULE_CACHE_H
#define UNWIND_RULE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "unwind/walk_rule.h"

#define RULE_CACHE_MAX_SLOTS	  65536
#define RULE_CACHE_MAX_SLOW_BYTES (16 * 1024 * 1024)

struct rule_slot {
	uint64_t offset;
	uint32_t object_plus_1; /* 0: free */
	struct walk_rule rule;
};

struct rule_cache {
	struct rule_slot *slots; /* owned */
	size_t mask;		 /* slots - 1 */
	size_t used;
	size_t slow_bytes;
};

/* Makes an empty cache. Returns 0 or -ENOMEM. */
int rule_cache_init(struct rule_cache *cache);

/* Frees what the cache owns, its rules included; a zeroed cache is fine. */
void rule_cache_fini(struct rule_cache *cache);

/* Forgets all rules. */
void rule_cache_clear(struct rule_cache *cache);

/* Returns the hash of a key; masked, it is the index at which the search begins. */
static inline size_t rule_cache_hash(uint32_t object, uint64_t offset)
{
	return (size_t)hash_mix64(offset ^ (uint64_t)object << 40);
}

/* Returns the rule of a key; NULL: not found. It lives until the next insertion or
 * rule_cache_clear(). */
static inline const struct walk_rule *rule_cache_find(const struct rule_cache *cache,
						      uint32_t object, uint64_t offset)
{
	size_t i = rule_cache_hash(object, offset) & cache->mask;

	for (;; i = (i + 1) & cache->mask) {
		const struct rule_slot *slot = &cache->slots[i];

		if (slot->object_plus_1 == object + 1 && slot->offset == offset)
			return &slot->rule;
		if (!slot->object_plus_1)
			return NULL;
	}
}

/* Inserts a rule whose key is not in the cache, and owns what it points to from then on. Never
 * fails: if there is no memory to grow, it empties the cache first. The result is valid as long as
 * that of rule_cache_find(). */
const struct walk_rule *rule_cache_insert(struct rule_cache *cache, uint32_t object,
					  uint64_t offset, const struct walk_rule *rule);

#endif
