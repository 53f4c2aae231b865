/* SPDX-License-Identifier: MIT */
/* A map from 64-bit keys to small numbers; see index.h. Linear probing over well-mixed keys. */
#include "report/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void index_free(struct index *index)
{
	free(index->table);
	*index = (struct index){0};
}

void index_clear(struct index *index)
{
	if (index->used)
		memset(index->table, 0xff, index->slots * sizeof(*index->table));
	index->used = 0;
}

/* The slot that holds a key, or the free one where it belongs. */
static struct index_slot *index_probe(const struct index *index, uint64_t key)
{
	size_t at = hash_mix64(key) & (index->slots - 1);

	while (index->table[at].value != INDEX_NONE && index->table[at].key != key)
		at = (at + 1) & (index->slots - 1);
	return &index->table[at];
}

static int index_grow(struct index *index)
{
	struct index bigger = {.slots = index->slots ? index->slots * 2 : 64, .used = index->used};

	bigger.table = reallocarray(NULL, bigger.slots, sizeof(*bigger.table));
	if (!bigger.table)
		return -ENOMEM;
	memset(bigger.table, 0xff, bigger.slots * sizeof(*bigger.table));
	for (size_t i = 0; i < index->slots; i++)
		if (index->table[i].value != INDEX_NONE)
			*index_probe(&bigger, index->table[i].key) = index->table[i];
	index_free(index);
	*index = bigger;
	return 0;
}

uint32_t index_find(const struct index *index, uint64_t key)
{
	return index->slots ? index_probe(index, key)->value : INDEX_NONE;
}

int index_enter(struct index *index, uint64_t key, uint32_t value, uint32_t *ret_value)
{
	struct index_slot *slot;

	if (index->used * 3 >= index->slots * 2) {
		int r = index_grow(index);

		if (r < 0)
			return r;
	}
	slot = index_probe(index, key);
	if (slot->value == INDEX_NONE) {
		*slot = (struct index_slot){key, value};
		index->used++;
	}
	*ret_value = slot->value;
	return 0;
}

int index_set(struct index *index, uint64_t key, uint32_t value)
{
	uint32_t old;
	int r = index_enter(index, key, value, &old);

	if (r == 0 && old != value)
		index_probe(index, key)->value = value;
	return r;
}
