/* SPDX-License-Identifier: MIT */
/* A weighted union-find; see offsets.h. */
#include "align/offsets.h"

#include <errno.h>
#include <stdlib.h>

int offsets_init(struct offsets *o, uint32_t count)
{
	*o = (struct offsets){.count = count};
	o->parent = reallocarray(NULL, (size_t)count + 1, sizeof(*o->parent));
	o->size = reallocarray(NULL, (size_t)count + 1, sizeof(*o->size));
	o->offset = calloc((size_t)count + 1, sizeof(*o->offset));
	if (!o->parent || !o->size || !o->offset) {
		offsets_fini(o);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++) {
		o->parent[i] = i;
		o->size[i] = 1;
	}
	return 0;
}

void offsets_fini(struct offsets *o)
{
	free(o->parent);
	free(o->size);
	free(o->offset);
	*o = (struct offsets){0};
}

uint32_t offsets_find(struct offsets *o, uint32_t member, int64_t *ret_above)
{
	int64_t above = 0;

	while (o->parent[member] != member) {
		uint32_t parent = o->parent[member];

		/* Halving: a member that was passed hangs on its grandparent afterwards. */
		o->offset[member] += o->offset[parent];
		o->parent[member] = o->parent[parent];
		above += o->offset[member];
		member = o->parent[member];
	}
	*ret_above = above;
	return member;
}

bool offsets_join(struct offsets *o, uint32_t a, uint32_t b, int64_t distance)
{
	int64_t above_a, above_b;

	a = offsets_find(o, a, &above_a);
	b = offsets_find(o, b, &above_b);
	if (a == b)
		return false;
	distance += above_b - above_a; /* of representative a above b */
	if (o->size[a] > o->size[b]) {
		uint32_t swap = a;

		a = b;
		b = swap;
		distance = -distance;
	}
	o->parent[a] = b;
	o->offset[a] = distance;
	o->size[b] += o->size[a];
	return true;
}
