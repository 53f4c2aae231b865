/* SPDX-License-Identifier: MIT */
/* A map from 64-bit keys to small numbers; see index.h. Linear probing over well-mixed keys. */
#include "report/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void index_free(struct index *index)
{
	free(index->keys);
	free(index->values);
	*index = (struct index){0};
}

void index_clear(struct index *index)
{
	if (index->used)
		memset(index->values, 0xff, index->slots * sizeof(*index->values));
	index->used = 0;
}

static size_t index_slot(const struct index *index, uint64_t key)
{
	size_t at = hash_mix64(key) & (index->slots - 1);

	while (index->values[at] != INDEX_NONE && index->keys[at] != key)
		at = (at + 1) & (index->slots - 1);
	return at;
}

static int index_grow(struct index *index)
{
	struct index bigger = {.slots = index->slots ? index->slots * 2 : 64};

	bigger.keys = reallocarray(NULL, bigger.slots, sizeof(*bigger.keys));
	bigger.values = reallocarray(NULL, bigger.slots, sizeof(*bigger.values));
	if (!bigger.keys || !bigger.values) {
		index_free(&bigger);
		return -ENOMEM;
	}
	memset(bigger.values, 0xff, bigger.slots * sizeof(*bigger.values));
	for (size_t i = 0; i < index->slots; i++) {
		size_t at;

		if (index->values[i] == INDEX_NONE)
			continue;
		at = index_slot(&bigger, index->keys[i]);
		bigger.keys[at] = index->keys[i];
		bigger.values[at] = index->values[i];
	}
	bigger.used = index->used;
	index_free(index);
	*index = bigger;
	return 0;
}

uint32_t index_find(const struct index *index, uint64_t key)
{
	return index->slots ? index->values[index_slot(index, key)] : INDEX_NONE;
}

int index_enter(struct index *index, uint64_t key, uint32_t value, uint32_t *ret_value)
{
	size_t at;

	if (index->used * 2 >= index->slots) {
		int r = index_grow(index);

		if (r < 0)
			return r;
	}
	at = index_slot(index, key);
	if (index->values[at] == INDEX_NONE) {
		index->keys[at] = key;
		index->values[at] = value;
		index->used++;
	}
	*ret_value = index->values[at];
	return 0;
}
