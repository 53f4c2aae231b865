/* SPDX-License-Identifier: MIT */
/* The order of samples: by stack, then time; and slices of it. */
#include <errno.h>
#include <stdlib.h>

#include "align/parts.h"

static int order_compare(const void *x, const void *y, void *arg)
{
	const struct align *a = arg;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	uint64_t at_i = a->samples.items[i].time, at_j = a->samples.items[j].time;

	if (at_i != at_j)
		return at_i < at_j ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* They nearly always come so. */
static int order_by_time(struct align *a)
{
	size_t n = a->samples.count;
	bool is_sorted = true;

	a->order = reallocarray(NULL, n + 1, sizeof(*a->order));
	if (!a->order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		a->order[i] = (uint32_t)i;
		is_sorted = is_sorted &&
			    (!i || a->samples.items[i - 1].time <= a->samples.items[i].time);
	}
	if (!is_sorted)
		qsort_r(a->order, n, sizeof(*a->order), order_compare, a);
	return 0;
}

struct order_lasts {
	uint32_t *items; /* by stack: the rank of its last sample */
	size_t count, cap;
};

/* Orders samples that are in order of time by stack first. */
static int order_by_stack(struct align *a, const struct int_map *stacks, struct order_lasts *last)
{
	uint32_t *grouped = reallocarray(NULL, a->samples.count + 1, sizeof(*grouped));
	uint32_t at = 0;

	if (!grouped)
		return -ENOMEM;
	for (size_t i = 0; i < last->count; i++) {
		uint32_t n = last->items[i];

		last->items[i] = at;
		at += n;
	}
	for (size_t i = 0; i < a->samples.count; i++) {
		uint32_t stack = a->samples.items[a->order[i]].stack;

		grouped[last->items[int_map_find(stacks, stack)]++] = a->order[i];
	}
	free(a->order);
	a->order = grouped;
	return 0;
}

int order_run(struct align *a)
{
	struct int_map stacks = {0};
	struct order_lasts last = {0};
	int r = order_by_time(a);

	for (size_t i = 0; r == 0 && i < a->samples.count; i++) {
		struct align_entry *e = &a->samples.items[a->order[i]];
		uint32_t stack;

		r = int_map_enter(&stacks, e->stack, (uint32_t)last.count, &stack);
		if (r == 0 && stack == last.count) {
			r = VEC_RESERVE(&last, 1);
			if (r == 0)
				last.items[last.count++] = 0;
		}
		if (r == 0)
			e->rank = ++last.items[stack];
	}
	if (r == 0 && last.count > 1)
		r = order_by_stack(a, &stacks, &last);
	free(last.items);
	int_map_fini(&stacks);
	return r;
}

/* --- slices --------------------------------------------------------------------------------- */

#define ORDER_SLICE   (16u << 10) /* samples: a quarter of a minute of a thread that never sleeps */
#define ORDER_OVERLAP (ORDER_SLICE / 8)

struct align_slice order_slice(const struct align *a, const struct align_slice *before)
{
	struct align_slice s = {.from = before->end, .done = before->end};
	uint32_t stack;

	if (before->end < before->to) /* it ended within a stack */
		s.from = before->end - (before->to - before->end);
	s.to = s.end = a->samples.count;
	if (s.to - s.from <= ORDER_SLICE)
		return s;
	s.to = s.end = s.from + ORDER_SLICE;
	/* It ends between two stacks, or if there is but one, within that. */
	stack = a->samples.items[a->order[s.to]].stack;
	while (s.end > s.from && a->samples.items[a->order[s.end - 1]].stack == stack)
		s.end--;
	if (s.end > s.done)
		s.to = s.end;
	else
		s.end = s.to - ORDER_OVERLAP;
	return s;
}
