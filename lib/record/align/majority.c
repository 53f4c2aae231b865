/* SPDX-License-Identifier: MIT */
/* The caller that most observations have; see majority.h. */
#include "align/majority.h"

void majority_fini(struct majority *m)
{
	int_map_fini(&m->numbers);
	free(m->keys.items);
	*m = (struct majority){0};
}

void majority_clear(struct majority *m)
{
	int_map_clear(&m->numbers);
	m->keys.count = 0;
}

int majority_enter(struct majority *m, uint32_t program, uint32_t symbol, uint32_t height,
		   bool is_unique, uint32_t *ret_key)
{
	uint32_t next = (uint32_t)m->keys.count, key = next;

	if (VEC_RESERVE(&m->keys, 1) < 0 ||
	    (!is_unique && int_map_enter_wide(&m->numbers, (uint64_t)program << 32 | symbol, height,
					      next, &key) < 0))
		return -ENOMEM;
	if (key == next)
		m->keys.items[m->keys.count++] = (struct majority_key){.newest = INT_MAP_NONE};
	*ret_key = key;
	return 0;
}

static bool is_same(const struct majority_caller *x, const struct majority_caller *y)
{
	return x->id == y->id && x->height == y->height;
}

void majority_vote(struct majority *m, uint32_t key, const struct majority_caller *caller,
		   uint32_t n)
{
	struct majority_key *k = &m->keys.items[key];

	k->total += n;
	if (is_same(&k->caller, caller) && k->lead) {
		k->lead += n;
	} else if (k->lead >= n) {
		k->lead -= n;
	} else {
		k->caller = *caller;
		k->lead = n - k->lead;
	}
}

void majority_count(struct majority *m, uint32_t key, const struct majority_caller *caller,
		    uint32_t n)
{
	struct majority_key *k = &m->keys.items[key];

	if (is_same(&k->caller, caller))
		k->count += n;
}

uint32_t majority_newest(const struct majority *m, uint32_t program, uint32_t symbol,
			 uint32_t height)
{
	uint32_t key = int_map_find_wide(&m->numbers, (uint64_t)program << 32 | symbol, height);

	return key == INT_MAP_NONE ? INT_MAP_NONE : m->keys.items[key].newest;
}
