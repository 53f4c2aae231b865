/* SPDX-License-Identifier: MIT */
/*
 * The call edges that were observed: from which call sites each function was called, and how many
 * bytes lie between the ends of the two frames. The distance is nearly always the same at one call
 * site, so the caller's height follows from the callee's height and the edge.
 */
#ifndef ALIGN_CALL_EDGES_H
#define ALIGN_CALL_EDGES_H

#include "base/int_map.h"
#include "base/vec.h"

struct call_edge {
	uint32_t id, symbol; /* the caller's frame */
	uint32_t distance;   /* bytes from the end of the caller's frame to the callee's */
	uint32_t next;	     /* the next edge of the same callee; INT_MAP_NONE ends the list */
};

/* A zeroed struct has no edges. */
struct call_edges {
	struct int_map callees; /* symbol -> index */
	VEC(uint32_t) first;	/* by callee: index of the newest edge */
	struct int_map numbers; /* (callee, caller's id, distance) -> index */
	VEC(struct call_edge) edges;
};

/* Frees all edges and leaves an empty struct. */
void call_edges_fini(struct call_edges *edges);

/* Adds a call of `symbol` from a frame, unless the edge is known. Returns 0 or -ENOMEM. */
int call_edges_add(struct call_edges *edges, uint32_t symbol, uint32_t caller_id,
		   uint32_t caller_symbol, uint32_t distance);

/* Returns the index of a function's first edge; INT_MAP_NONE if no call of it was observed. */
uint32_t call_edges_of(const struct call_edges *edges, uint32_t symbol);

#endif
