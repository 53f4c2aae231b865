/* SPDX-License-Identifier: MIT */
/*
 * The order of samples: by stack, then time; and the slices in which they are aligned.
 *
 * A slice holds samples of several stacks, or a part of one stack. Parts overlap, so that a sample
 * near the end of one part still has neighbours in time after it.
 */
#include <errno.h>
#include <stdlib.h>

#include "align/align_state.h"

static int compare(const void *x, const void *y, void *arg)
{
	const struct align *a = arg;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	uint64_t time_i = a->samples.items[i].time, time_j = a->samples.items[j].time;

	if (time_i != time_j)
		return time_i < time_j ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* Sorts the samples by time. Nearly always they are in this order already. */
static int by_time(struct align *a)
{
	size_t n = a->samples.count;
	bool is_sorted = true;

	a->order = calloc(n + 1, sizeof(*a->order));
	if (!a->order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		a->order[i] = (uint32_t)i;
		is_sorted = is_sorted &&
			    (!i || a->samples.items[i - 1].time <= a->samples.items[i].time);
	}
	if (!is_sorted)
		qsort_r(a->order, n, sizeof(*a->order), compare, a);
	return 0;
}

/* The stacks of all samples. */
struct order_stacks {
	struct int_map numbers;	 /* stack -> index */
	VEC(uint32_t) last_rank; /* by index: the rank of its last sample */
};

/* Sorts samples that are in order of time by stack. The sort is stable. */
static int by_stack(struct align *a, struct order_stacks *stacks)
{
	uint32_t *sorted = calloc(a->samples.count + 1, sizeof(*sorted));
	uint32_t *next = stacks->last_rank.items, total = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->last_rank.count; i++) {
		uint32_t n = next[i];

		next[i] = total;
		total += n;
	}
	for (size_t i = 0; i < a->samples.count; i++) {
		uint32_t stack = a->samples.items[a->order[i]].stack;

		sorted[next[int_map_find(&stacks->numbers, stack)]++] = a->order[i];
	}
	free(a->order);
	a->order = sorted;
	return 0;
}

/* Gives a sample the next rank of its stack. */
static int order_rank(struct order_stacks *stacks, struct align_entry *e)
{
	uint32_t next = (uint32_t)stacks->last_rank.count, stack;

	if (VEC_RESERVE(&stacks->last_rank, 1) < 0 ||
	    int_map_enter(&stacks->numbers, e->stack, next, &stack) < 0)
		return -ENOMEM;
	if (stack == next)
		stacks->last_rank.items[stacks->last_rank.count++] = 0;
	e->rank = ++stacks->last_rank.items[stack];
	return 0;
}

int order_run(struct align *a)
{
	struct order_stacks stacks = {0};
	int err = by_time(a);

	for (size_t i = 0; err == 0 && i < a->samples.count; i++)
		err = order_rank(&stacks, &a->samples.items[a->order[i]]);
	if (err == 0 && stacks.last_rank.count > 1)
		err = by_stack(a, &stacks);
	free(stacks.last_rank.items);
	int_map_fini(&stacks.numbers);
	return err;
}

/* --- slices --------------------------------------------------------------------------------- */

/* Slices bound memory, and keep a slice's evidence in the processor's caches: a million samples
 * took a tenth less time with this size than with twice as much (bench/align_speed.c). */
#define ORDER_SLICE   (16u << 10) /* samples: 16 s of a thread that is always running, at 997 Hz */
#define ORDER_OVERLAP (ORDER_SLICE / 8)

struct align_slice order_slice(const struct align *a, const struct align_slice *before)
{
	struct align_slice s = {.from = before->end, .done = before->end};
	uint32_t stack;

	if (before->end < before->to) /* The slice before ended within a stack. */
		s.from = before->end - (before->to - before->end);
	s.to = s.end = a->samples.count;
	if (s.to - s.from <= ORDER_SLICE)
		return s;
	s.to = s.end = s.from + ORDER_SLICE;
	/* The slice ends at the border between two stacks; if it has samples of only one stack,
	 * within that stack. */
	stack = a->samples.items[a->order[s.to]].stack;
	while (s.end > s.from && a->samples.items[a->order[s.end - 1]].stack == stack)
		s.end--;
	if (s.end > s.done)
		s.to = s.end;
	else
		s.end = s.to - ORDER_OVERLAP;
	return s;
}
