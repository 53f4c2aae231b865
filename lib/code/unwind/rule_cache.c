/* SPDX-License-Identifier: MIT */
/* Fills, grows and empties the table of rule_cache.h. rule_cache_find() relies on at least a
 * quarter of the slots being free. */
#include "unwind/rule_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 1024

int rule_cache_init(struct rule_cache *cache)
{
	struct rule_slot *slots = calloc(FIRST_SLOTS, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	*cache = (struct rule_cache){.slots = slots, .mask = FIRST_SLOTS - 1};
	return 0;
}

void rule_cache_clear(struct rule_cache *cache)
{
	for (size_t i = 0; cache->slots && i <= cache->mask; i++)
		walk_rule_free(&cache->slots[i].rule);
	if (cache->slots)
		memset(cache->slots, 0, (cache->mask + 1) * sizeof(*cache->slots));
	cache->used = 0;
	cache->slow_bytes = 0;
}

void rule_cache_fini(struct rule_cache *cache)
{
	rule_cache_clear(cache);
	free(cache->slots);
	*cache = (struct rule_cache){0};
}

static struct rule_slot *free_slot(struct rule_slot *slots, size_t mask, uint32_t object,
				   uint64_t offset)
{
	size_t i = rule_cache_hash(object, offset) & mask;

	while (slots[i].object_plus_1)
		i = (i + 1) & mask;
	return &slots[i];
}

static int grow(struct rule_cache *cache)
{
	size_t n = (cache->mask + 1) * 2;
	struct rule_slot *slots;

	if (n > RULE_CACHE_MAX_SLOTS)
		return -ENOSPC;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i <= cache->mask; i++) {
		const struct rule_slot *old = &cache->slots[i];

		if (old->object_plus_1)
			*free_slot(slots, n - 1, old->object_plus_1 - 1, old->offset) = *old;
	}
	free(cache->slots);
	cache->slots = slots;
	cache->mask = n - 1;
	return 0;
}

const struct walk_rule *rule_cache_insert(struct rule_cache *cache, uint32_t object,
					  uint64_t offset, const struct walk_rule *rule)
{
	size_t slow_bytes = rule->slow ? rule->slow->bytes : 0;
	struct rule_slot *slot;

	if (cache->slow_bytes + slow_bytes > RULE_CACHE_MAX_SLOW_BYTES)
		rule_cache_clear(cache);
	if ((cache->used + 1) * 4 > (cache->mask + 1) * 3 && grow(cache))
		rule_cache_clear(cache);
	slot = free_slot(cache->slots, cache->mask, object, offset);
	*slot = (struct rule_slot){offset, object + 1, *rule};
	cache->used++;
	cache->slow_bytes += slow_bytes;
	return &slot->rule;
}
