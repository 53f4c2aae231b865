/* SPDX-License-Identifier: MIT */
/* A sorted list of taken extents; see extents.h. There are as many as loaded files: hundreds. */
#include "daemon/tables/extents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/vec.h"

struct extent {
	uint32_t first, count;
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

int extents_take(struct extents *e, uint32_t count, uint32_t *ret_first)
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
	e->taken[i] = (struct extent){.first = first, .count = count};
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

uint32_t extents_used(const struct extents *e)
{
	return e->used;
}
