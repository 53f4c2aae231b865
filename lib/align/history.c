/* SPDX-License-Identifier: MIT */
/* What was seen when; see history.h. Sorted by counting, asked by leaps that double, then
 * bisection. */
#include "align/history.h"

void history_fini(struct history *h)
{
	int_map_fini(&h->keys);
	free(h->by_key.items);
	free(h->sightings.items);
	*h = (struct history){0};
}

void history_clear(struct history *h)
{
	int_map_clear(&h->keys);
	h->by_key.count = h->sightings.count = 0;
}

int history_note(struct history *h, uint32_t stack, uint32_t symbol, uint32_t height,
		 bool has_caller, uint32_t *ret_key)
{
	uint32_t next = (uint32_t)h->by_key.count;

	if (VEC_RESERVE(&h->by_key, 1) < 0 ||
	    int_map_enter_wide(&h->keys, (uint64_t)stack << 32 | symbol, height, next, ret_key) < 0)
		return -ENOMEM;
	if (*ret_key == next)
		h->by_key.items[h->by_key.count++] =
			(struct history_key){.symbol = symbol, .height = height};
	h->by_key.items[*ret_key].count += has_caller;
	return 0;
}

int history_ready(struct history *h)
{
	uint32_t at = 0;

	for (size_t i = 0; i < h->by_key.count; i++) {
		struct history_key *k = &h->by_key.items[i];

		k->first = k->cursor = at;
		at += k->count;
		k->count = 0;
	}
	if (VEC_RESERVE(&h->sightings, at) < 0)
		return -ENOMEM;
	h->sightings.count = at;
	return 0;
}

uint32_t history_key(const struct history *h, uint32_t stack, uint32_t symbol, uint32_t height)
{
	return int_map_find_wide(&h->keys, (uint64_t)stack << 32 | symbol, height);
}

void history_place(struct history *h, uint32_t key, const struct history_sighting *sighting)
{
	struct history_key *k = &h->by_key.items[key];

	h->sightings.items[k->first + k->count++] = *sighting;
}

struct history_place history_find(const struct history *h, uint32_t key, uint32_t rank)
{
	struct history_key *k = &h->by_key.items[key];
	const struct history_sighting *seen = h->sightings.items;
	uint32_t low = k->cursor, high, end = k->first + k->count;
	struct history_place p = {0, HISTORY_NONE, HISTORY_NONE, UINT32_MAX, UINT32_MAX};

	if (low > k->first && history_rank(&seen[low - 1]) >= rank)
		low = k->first;
	high = low;
	for (uint32_t leap = 1; high < end && history_rank(&seen[high]) < rank; leap *= 2) {
		low = high + 1;
		high = end - high > leap ? high + leap : end;
	}
	while (low < high) { /* the first of at least `rank` */
		uint32_t middle = low + (high - low) / 2;

		if (history_rank(&seen[middle]) < rank)
			low = middle + 1;
		else
			high = middle;
	}
	p.at = k->cursor = low;
	if (low > k->first) {
		p.before = low - 1;
		p.gap_before = rank - history_rank(&seen[low - 1]);
	}
	while (low < end && history_rank(&seen[low]) == rank)
		low++;
	if (low < end) {
		p.after = low;
		p.gap_after = history_rank(&seen[low]) - rank;
	}
	return p;
}
