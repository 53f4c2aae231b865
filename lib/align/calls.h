/* SPDX-License-Identifier: MIT */
/*
 * Which routines were called from where: the edges of the call graph, each with the distance in
 * bytes between the ends of the two frames. From a place in code the distance is nearly always
 * the same, so an edge tells at which height the caller must be.
 */
#ifndef ALIGN_CALLS_H
#define ALIGN_CALLS_H

#include "base/int_map.h"
#include "base/vec.h"

struct call {
	uint32_t id, symbol; /* of the caller's frame */
	uint32_t distance;
	uint32_t count;
	uint32_t next; /* of the same callee; INT_MAP_NONE ends the list */
};

/* Zeroed is empty. */
struct calls {
	struct int_map callees; /* symbol -> number */
	VEC(uint32_t) first;	/* by callee: its newest call */
	struct int_map edges;	/* (callee, caller's id, distance) -> number */
	VEC(struct call) calls; /* by edge */
};

void calls_fini(struct calls *c);

/* Notes that `symbol` was called from a frame. 0 or -ENOMEM. */
int calls_add(struct calls *c, uint32_t symbol, uint32_t caller_id, uint32_t caller_symbol,
	      uint32_t distance);

/* The number of the first call of a routine; INT_MAP_NONE: it was never seen called. */
uint32_t calls_of(const struct calls *c, uint32_t symbol);

#endif
