/* SPDX-License-Identifier: MIT */
/* Which routines were called from where; see calls.h. */
#include "align/calls.h"

void calls_fini(struct calls *c)
{
	int_map_fini(&c->callees);
	int_map_fini(&c->edges);
	free(c->first.items);
	free(c->calls.items);
	*c = (struct calls){0};
}

static int calls_callee(struct calls *c, uint32_t symbol, uint32_t *ret_callee)
{
	uint32_t next = (uint32_t)c->first.count;

	if (VEC_RESERVE(&c->first, 1) < 0 ||
	    int_map_enter(&c->callees, symbol, next, ret_callee) < 0)
		return -ENOMEM;
	if (*ret_callee == next)
		c->first.items[c->first.count++] = INT_MAP_NONE;
	return 0;
}

int calls_add(struct calls *c, uint32_t symbol, uint32_t caller_id, uint32_t caller_symbol,
	      uint32_t distance)
{
	uint32_t callee, edge;
	int r = VEC_RESERVE(&c->calls, 1);

	if (r == 0)
		r = calls_callee(c, symbol, &callee);
	if (r == 0)
		r = int_map_enter_wide(&c->edges, (uint64_t)callee << 32 | caller_id, distance,
				       (uint32_t)c->calls.count, &edge);
	if (r < 0)
		return r;
	if (edge == c->calls.count) {
		c->calls.items[c->calls.count++] = (struct call){.id = caller_id,
								 .symbol = caller_symbol,
								 .distance = distance,
								 .next = c->first.items[callee]};
		c->first.items[callee] = edge;
	}
	c->calls.items[edge].count++;
	return 0;
}

uint32_t calls_of(const struct calls *c, uint32_t symbol)
{
	uint32_t callee = int_map_find(&c->callees, symbol);

	return callee < c->first.count ? c->first.items[callee] : INT_MAP_NONE;
}
