/* SPDX-License-Identifier: MIT */
/* Observed call edges; see call_edges.h. */
#include "align/call_edges.h"

void call_edges_fini(struct call_edges *c)
{
	int_map_fini(&c->callees);
	int_map_fini(&c->numbers);
	free(c->first.items);
	free(c->edges.items);
	*c = (struct call_edges){0};
}

static int call_edges_callee(struct call_edges *c, uint32_t symbol, uint32_t *ret_callee)
{
	uint32_t next = (uint32_t)c->first.count;

	if (VEC_RESERVE(&c->first, 1) < 0 ||
	    int_map_enter(&c->callees, symbol, next, ret_callee) < 0)
		return -ENOMEM;
	if (*ret_callee == next)
		c->first.items[c->first.count++] = INT_MAP_NONE;
	return 0;
}

int call_edges_add(struct call_edges *c, uint32_t symbol, uint32_t caller_id,
		   uint32_t caller_symbol, uint32_t distance)
{
	uint32_t next = (uint32_t)c->edges.count, callee, edge;

	if (VEC_RESERVE(&c->edges, 1) < 0 || call_edges_callee(c, symbol, &callee) < 0 ||
	    int_map_enter_wide(&c->numbers, (uint64_t)callee << 32 | caller_id, distance, next,
			       &edge) < 0)
		return -ENOMEM;
	if (edge == next) {
		c->edges.items[c->edges.count++] =
			(struct call_edge){.id = caller_id,
					   .symbol = caller_symbol,
					   .distance = distance,
					   .next = c->first.items[callee]};
		c->first.items[callee] = edge;
	}
	return 0;
}

uint32_t call_edges_of(const struct call_edges *c, uint32_t symbol)
{
	uint32_t callee = int_map_find(&c->callees, symbol);

	return callee == INT_MAP_NONE ? INT_MAP_NONE : c->first.items[callee];
}
