/* SPDX-License-Identifier: MIT */
/* The history of frames; see history.h. Observations are sorted by counting, and searched by
 * doubling steps and then by bisection. */
#include "align/history.h"

void history_fini(struct history *h)
{
	int_map_fini(&h->numbers);
	free(h->keys.items);
	free(h->observations.items);
	*h = (struct history){0};
}

void history_clear(struct history *h)
{
	int_map_clear(&h->numbers);
	h->keys.count = h->observations.count = 0;
}

int history_count(struct history *h, uint32_t stack, uint32_t symbol, uint32_t height,
		  bool has_caller, uint32_t *ret_key)
{
	uint32_t next = (uint32_t)h->keys.count;

	if (VEC_RESERVE(&h->keys, 1) < 0 ||
	    int_map_enter_wide(&h->numbers, (uint64_t)stack << 32 | symbol, height, next, ret_key) <
		    0)
		return -ENOMEM;
	if (*ret_key == next)
		h->keys.items[h->keys.count++] =
			(struct history_key){.symbol = symbol, .height = height};
	h->keys.items[*ret_key].count += has_caller;
	return 0;
}

int history_allocate(struct history *h)
{
	uint32_t total = 0;

	for (size_t i = 0; i < h->keys.count; i++) {
		struct history_key *k = &h->keys.items[i];

		k->first = k->cursor = total;
		total += k->count;
		k->count = 0;
	}
	if (VEC_RESERVE(&h->observations, total) < 0)
		return -ENOMEM;
	h->observations.count = total;
	return 0;
}

void history_store(struct history *h, uint32_t key, const struct history_observation *observation)
{
	struct history_key *k = &h->keys.items[key];

	h->observations.items[k->first + k->count++] = *observation;
}

uint32_t history_key(const struct history *h, uint32_t stack, uint32_t symbol, uint32_t height)
{
	return int_map_find_wide(&h->numbers, (uint64_t)stack << 32 | symbol, height);
}

/* Returns the position of a key's first observation whose rank is at least `rank`. */
static uint32_t search(const struct history *h, const struct history_key *k, uint32_t rank)
{
	const struct history_observation *o = h->observations.items;
	uint32_t low = k->cursor, high, end = k->first + k->count;

	if (low > k->first && history_rank(&o[low - 1]) >= rank)
		low = k->first;
	high = low;
	for (uint32_t step = 1; high < end && history_rank(&o[high]) < rank; step *= 2) {
		low = high + 1;
		high = end - high > step ? high + step : end;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (history_rank(&o[middle]) < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct history_neighbours history_find(const struct history *h, uint32_t key, uint32_t rank)
{
	struct history_key *k = &h->keys.items[key];
	const struct history_observation *o = h->observations.items;
	uint32_t position = search(h, k, rank), end = k->first + k->count;
	struct history_neighbours n = {position, HISTORY_NONE, HISTORY_NONE, UINT32_MAX,
				       UINT32_MAX};

	k->cursor = position;
	if (position > k->first) {
		n.before = position - 1;
		n.distance_before = rank - history_rank(&o[n.before]);
	}
	while (position < end && history_rank(&o[position]) == rank)
		position++;
	if (position < end) {
		n.after = position;
		n.distance_after = history_rank(&o[position]) - rank;
	}
	return n;
}
