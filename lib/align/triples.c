/* SPDX-License-Identifier: MIT */
/* Triples of numbers to dense numbers; see triples.h. */
#include "align/triples.h"

#include <string.h>

#include "base/hash.h"

void triples_fini(struct triples *t)
{
	free(t->items.items);
	free(t->index.slot);
	*t = (struct triples){0};
}

void triples_clear(struct triples *t)
{
	t->items.count = 0;
	t->index.used = 0;
	if (t->index.slot)
		memset(t->index.slot, 0, slots_bytes(&t->index));
}

static uint64_t triples_hash(uint32_t a, uint32_t b, uint32_t c)
{
	return hash_mix64(((uint64_t)a << 32 | b) + c * UINT64_C(0x9e3779b97f4a7c15));
}

static int triples_grow(struct triples *t)
{
	struct slots grown;

	if (slots_grow(&t->index, &grown) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->items.count; i++) {
		const struct triple *x = &t->items.items[i];

		slots_put(&grown, triples_hash(x->a, x->b, x->c), i);
	}
	free(t->index.slot);
	t->index = grown;
	return 0;
}

static uint32_t triples_probe(const struct triples *t, uint64_t hash, uint32_t a, uint32_t b,
			      uint32_t c)
{
	size_t at = hash & t->index.mask;

	for (; t->index.slot[at]; at = (at + 1) & t->index.mask) {
		const struct triple *x = &t->items.items[t->index.slot[at] - 1];

		if (x->a == a && x->b == b && x->c == c)
			return t->index.slot[at] - 1;
	}
	return TRIPLES_NONE;
}

uint32_t triples_find(const struct triples *t, uint32_t a, uint32_t b, uint32_t c)
{
	return t->index.slot ? triples_probe(t, triples_hash(a, b, c), a, b, c) : TRIPLES_NONE;
}

int triples_intern(struct triples *t, uint32_t a, uint32_t b, uint32_t c, uint32_t *ret_number)
{
	uint64_t hash = triples_hash(a, b, c);
	uint32_t number;

	if (slots_full(&t->index) && triples_grow(t) < 0)
		return -ENOMEM;
	number = triples_probe(t, hash, a, b, c);
	if (number == TRIPLES_NONE) {
		if (VEC_RESERVE(&t->items, 1) < 0)
			return -ENOMEM;
		number = (uint32_t)t->items.count;
		t->items.items[t->items.count++] = (struct triple){a, b, c};
		slots_put(&t->index, hash, number);
	}
	*ret_number = number;
	return 0;
}
