/* SPDX-License-Identifier: MIT */
/* A weighted union-find; see offsets.h. */
#include "align/offsets.h"

void offsets_fini(struct offsets *o)
{
	free(o->members.items);
	*o = (struct offsets){0};
}

int offsets_add(struct offsets *o)
{
	if (VEC_RESERVE(&o->members, 1) < 0)
		return -ENOMEM;
	o->members.items[o->members.count] =
		(struct offsets_member){.parent = (uint32_t)o->members.count, .size = 1};
	o->members.count++;
	return 0;
}

uint32_t offsets_find(struct offsets *o, uint32_t member, int64_t *ret_above)
{
	struct offsets_member *m = o->members.items;
	int64_t above = 0;

	while (m[member].parent != member) {
		uint32_t parent = m[member].parent;

		/* Halving: a member that was passed hangs on its grandparent afterwards. */
		m[member].offset += m[parent].offset;
		m[member].parent = m[parent].parent;
		above += m[member].offset;
		member = m[member].parent;
	}
	*ret_above = above;
	return member;
}

bool offsets_join(struct offsets *o, uint32_t a, uint32_t b, int64_t distance)
{
	struct offsets_member *m = o->members.items;
	int64_t above_a, above_b;

	a = offsets_find(o, a, &above_a);
	b = offsets_find(o, b, &above_b);
	if (a == b)
		return false;
	distance += above_b - above_a; /* of representative a above b */
	if (m[a].size > m[b].size) {
		uint32_t swap = a;

		a = b;
		b = swap;
		distance = -distance;
	}
	m[a].parent = b;
	m[a].offset = distance;
	m[b].size += m[a].size;
	return true;
}
