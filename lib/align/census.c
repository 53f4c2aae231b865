/* SPDX-License-Identifier: MIT */
/* Who called a routine at a height; see census.h. */
#include "align/census.h"

void census_fini(struct census *c)
{
	int_map_fini(&c->keys);
	free(c->by_key.items);
	*c = (struct census){0};
}

void census_clear(struct census *c)
{
	int_map_clear(&c->keys);
	c->by_key.count = 0;
}

int census_enter(struct census *c, uint32_t program, uint32_t symbol, uint32_t height,
		 bool is_alone, uint32_t *ret_key)
{
	uint32_t number = (uint32_t)c->by_key.count;

	if (VEC_RESERVE(&c->by_key, 1) < 0 ||
	    (!is_alone && int_map_enter_wide(&c->keys, (uint64_t)program << 32 | symbol, height,
					     number, &number) < 0))
		return -ENOMEM;
	*ret_key = number;
	if (*ret_key == c->by_key.count)
		c->by_key.items[c->by_key.count++] = (struct census_key){.newest = INT_MAP_NONE};
	return 0;
}

static bool census_same(const struct census_caller *x, const struct census_caller *y)
{
	return x->id == y->id && x->height == y->height;
}

void census_vote(struct census *c, uint32_t key, const struct census_caller *caller, uint32_t n)
{
	struct census_key *k = &c->by_key.items[key];

	k->total += n;
	if (census_same(&k->caller, caller) && k->votes) {
		k->votes += n;
	} else if (k->votes >= n) {
		k->votes -= n;
	} else {
		k->caller = *caller;
		k->votes = n - k->votes;
	}
}

void census_count(struct census *c, uint32_t key, const struct census_caller *caller, uint32_t n)
{
	struct census_key *k = &c->by_key.items[key];

	if (census_same(&k->caller, caller))
		k->count += n;
}

uint32_t census_newest(const struct census *c, uint32_t program, uint32_t symbol, uint32_t height)
{
	uint32_t key = int_map_find_wide(&c->keys, (uint64_t)program << 32 | symbol, height);

	return key == INT_MAP_NONE ? INT_MAP_NONE : c->by_key.items[key].newest;
}
