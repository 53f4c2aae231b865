/* SPDX-License-Identifier: MIT */
/* What was seen when; see history.h. Sorted by counting, asked by leaps that double, then
 * bisection. */
#include "align/history.h"

#include <string.h>

void history_fini(struct history *h)
{
	triples_fini(&h->keys);
	free(h->first);
	free(h->frames);
	free(h->ranks);
	free(h->cursors);
	*h = (struct history){0};
}

void history_maker_fini(struct history_maker *m)
{
	free(m->counts.items);
	*m = (struct history_maker){0};
}

int history_count(struct history *h, struct history_maker *m, uint32_t key)
{
	size_t need = h->keys.items.count;

	if (m->counts.count < need) {
		if (VEC_RESERVE(&m->counts, need - m->counts.count) < 0)
			return -ENOMEM;
		memset(m->counts.items + m->counts.count, 0,
		       (need - m->counts.count) * sizeof(*m->counts.items));
		m->counts.count = need;
	}
	m->counts.items[key]++;
	return 0;
}

int history_ready(struct history *h, struct history_maker *m)
{
	size_t n = h->keys.items.count;
	uint32_t at = 0;

	h->first = calloc(n + 1, sizeof(*h->first));
	h->cursors = calloc(n + 1, sizeof(*h->cursors));
	if (!h->first || !h->cursors || VEC_RESERVE(&m->counts, n + 1 - m->counts.count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t count = i < m->counts.count ? m->counts.items[i] : 0;

		h->first[i] = h->cursors[i] = m->counts.items[i] = at;
		at += count;
	}
	h->first[n] = at;
	h->frames = reallocarray(NULL, (size_t)at + 1, sizeof(*h->frames));
	h->ranks = reallocarray(NULL, (size_t)at + 1, sizeof(*h->ranks));
	return h->frames && h->ranks ? 0 : -ENOMEM;
}

void history_place(struct history *h, struct history_maker *m, uint32_t key, uint32_t frame,
		   uint32_t rank)
{
	uint32_t at = m->counts.items[key]++;

	h->frames[at] = frame;
	h->ranks[at] = rank;
}

struct history_place history_find(const struct history *h, uint32_t key, uint32_t rank)
{
	uint32_t low = h->cursors[key], high, end = h->first[key + 1];
	struct history_place p = {0, HISTORY_NONE, HISTORY_NONE, UINT32_MAX, UINT32_MAX};

	if (low > h->first[key] && h->ranks[low - 1] >= rank)
		low = h->first[key];
	high = low;
	for (uint32_t leap = 1; high < end && h->ranks[high] < rank; leap *= 2) {
		low = high + 1;
		high = end - high > leap ? high + leap : end;
	}
	while (low < high) { /* the first of at least `rank` */
		uint32_t middle = low + (high - low) / 2;

		if (h->ranks[middle] < rank)
			low = middle + 1;
		else
			high = middle;
	}
	p.at = h->cursors[key] = low;
	if (low > h->first[key]) {
		p.before = h->frames[low - 1];
		p.gap_before = rank - h->ranks[low - 1];
	}
	while (low < end && h->ranks[low] == rank)
		low++;
	if (low < end) {
		p.after = h->frames[low];
		p.gap_after = h->ranks[low] - rank;
	}
	return p;
}
