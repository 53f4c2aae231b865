/* SPDX-License-Identifier: MIT */
/* A weighted union-find; see union_find.h. */
#include "align/union_find.h"

void union_find_fini(struct union_find *sets)
{
	free(sets->members.items);
	*sets = (struct union_find){0};
}

int union_find_add(struct union_find *sets)
{
	if (VEC_RESERVE(&sets->members, 1) < 0)
		return -ENOMEM;
	sets->members.items[sets->members.count] =
		(struct union_find_member){.parent = (uint32_t)sets->members.count, .size = 1};
	sets->members.count++;
	return 0;
}

uint32_t union_find_find(struct union_find *sets, uint32_t member, int64_t *ret_distance)
{
	struct union_find_member *m = sets->members.items;
	int64_t distance = 0;

	while (m[member].parent != member) {
		uint32_t parent = m[member].parent;

		/* Path halving: each visited member is moved to its grandparent. */
		m[member].distance += m[parent].distance;
		m[member].parent = m[parent].parent;
		distance += m[member].distance;
		member = m[member].parent;
	}
	*ret_distance = distance;
	return member;
}

bool union_find_join(struct union_find *sets, uint32_t a, uint32_t b, int64_t distance)
{
	struct union_find_member *m = sets->members.items;
	int64_t from_a, from_b;

	a = union_find_find(sets, a, &from_a);
	b = union_find_find(sets, b, &from_b);
	if (a == b)
		return false;
	distance += from_b - from_a; /* between the representatives */
	if (m[a].size > m[b].size) {
		uint32_t swap = a;

		a = b;
		b = swap;
		distance = -distance;
	}
	m[a].parent = b;
	m[a].distance = distance;
	m[b].size += m[a].size;
	return true;
}
