/* SPDX-License-Identifier: MIT */
/* Keeps a sorted list of the taken extents; see extents.h. There are as many as loaded files:
 * hundreds. */
#include "daemon/tables/extents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/vec.h"

struct extent {
	uint32_t first, count, owner;
};

struct extents {
	uint32_t size, used;
	struct extent *taken; /* sorted */
	uint32_t count;
	size_t room;
};

int extents_new(uint32_t size, struct extents **ret_extents)
{
	struct extents *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->size = size;
	*ret_extents = e;
	return 0;
}

void extents_free(struct extents *e)
{
	if (!e)
		return;
	free(e->taken);
	free(e);
}

int extents_take(struct extents *e, uint32_t count, uint32_t owner, uint32_t *ret_first)
{
	uint32_t first = 0, i;

	if (count > e->size)
		return -E2BIG;
	for (i = 0; i < e->count && e->taken[i].first - first < count; i++)
		first = e->taken[i].first + e->taken[i].count;
	if (i == e->count && e->size - first < count)
		return -ENOSPC;
	if (VEC_GROW(e->taken, e->room, (size_t)e->count + 1))
		return -ENOMEM;
	memmove(e->taken + i + 1, e->taken + i, (e->count - i) * sizeof(*e->taken));
	e->taken[i] = (struct extent){.first = first, .count = count, .owner = owner};
	e->count++;
	e->used += count;
	*ret_first = first;
	return 0;
}

void extents_give(struct extents *e, uint32_t first)
{
	for (uint32_t i = 0; i < e->count; i++) {
		if (e->taken[i].first != first)
			continue;
		e->used -= e->taken[i].count;
		e->count--;
		memmove(e->taken + i, e->taken + i + 1, (e->count - i) * sizeof(*e->taken));
		return;
	}
}

/* If a range is a cheapest one, it can be moved down until it begins where an extent ends, or where
 * the array begins, and overlaps no further extent. So only such ranges are tried. `from` and `to`
 * are the extents that overlap the range; `sum` is what they cost. */
int extents_cheapest(const struct extents *e, uint32_t count,
		     uint64_t (*cost)(const void *arg, uint32_t owner), const void *arg,
		     uint32_t *ret_first, uint64_t *ret_cost)
{
	uint64_t least = UINT64_MAX, sum = 0;
	uint32_t first = 0, best = 0;

	if (count > e->size)
		return -E2BIG;
	for (uint32_t from = 0, to = 0; from <= e->count && e->size - first >= count; from++) {
		for (; to < e->count && e->taken[to].first - first < count; to++)
			sum += cost(arg, e->taken[to].owner);
		if (sum < least) {
			least = sum;
			best = first;
		}
		if (from == e->count)
			break;
		first = e->taken[from].first + e->taken[from].count;
		sum -= from < to ? cost(arg, e->taken[from].owner) : 0;
		to = to > from ? to : from + 1;
	}
	*ret_first = best;
	*ret_cost = least;
	return 0;
}

uint32_t extents_owner_within(const struct extents *e, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < e->count && e->taken[i].first < (uint64_t)first + count; i++) {
		if ((uint64_t)e->taken[i].first + e->taken[i].count > first)
			return e->taken[i].owner;
	}
	return 0;
}

uint32_t extents_used(const struct extents *e)
{
	return e->used;
}
