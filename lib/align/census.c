/* SPDX-License-Identifier: MIT */
/* Who called a routine at a height; see census.h. */
#include "align/census.h"

void census_fini(struct census *c)
{
	triples_fini(&c->keys);
	triples_fini(&c->callers);
	free(c->by_key.items);
	free(c->by_caller.items);
	*c = (struct census){0};
}

int census_add(struct census *c, uint32_t program, uint32_t symbol, uint32_t height,
	       const struct census_caller *caller)
{
	struct census_key *k;
	uint32_t key, at;

	if (VEC_RESERVE(&c->by_key, 1) < 0 || VEC_RESERVE(&c->by_caller, 1) < 0 ||
	    triples_intern(&c->keys, program, symbol, height, &key) < 0 ||
	    triples_intern(&c->callers, key, caller->id, caller->height, &at) < 0)
		return -ENOMEM;
	if (key == c->by_key.count)
		c->by_key.items[c->by_key.count++] = (struct census_key){.most = at};
	if (at == c->by_caller.count) {
		c->by_caller.items[at] = *caller;
		c->by_caller.items[at].count = 0;
		c->by_caller.count++;
	}
	k = &c->by_key.items[key];
	k->total += caller->count;
	c->by_caller.items[at].count += caller->count;
	if (c->by_caller.items[at].count > c->by_caller.items[k->most].count)
		k->most = at;
	return 0;
}

const struct census_caller *census_ask(const struct census *c, uint32_t program, uint32_t symbol,
				       uint32_t height, uint32_t *ret_total)
{
	uint32_t key = triples_find(&c->keys, program, symbol, height);

	if (key >= c->by_key.count)
		return NULL;
	*ret_total = c->by_key.items[key].total;
	return &c->by_caller.items[c->by_key.items[key].most];
}
