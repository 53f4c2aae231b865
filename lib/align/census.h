/* SPDX-License-Identifier: MIT */
/*
 * Who called a routine at a height, in all stacks of a program: threads of one pool, and runs of
 * one compiler, do the same things at the same heights.
 *
 * Only a caller that most sightings tell is asked for. So one pass votes, where the most frequent
 * one of more than half wins (Boyer and Moore), and a second counts the winner's sightings.
 */
#ifndef ALIGN_CENSUS_H
#define ALIGN_CENSUS_H

#include <stdbool.h>

#include "base/int_map.h"
#include "base/vec.h"

struct census_caller {
	uint32_t id, symbol, height;
};

struct census_key {
	struct census_caller caller; /* that won so far */
	uint32_t votes;		     /* by which it leads */
	uint32_t count, total;	     /* its sightings, and all */
	uint32_t newest;	     /* the caller's own: the last stack's key in the history */
};

/* Zeroed is empty. */
struct census {
	struct int_map keys; /* (program, symbol, height) -> number */
	VEC(struct census_key) by_key;
};

void census_fini(struct census *c);
void census_clear(struct census *c); /* keeps its memory */

/* The number of a key, entered if it is new. `is_alone`: no other stack has it, it is new.
 * 0 or -ENOMEM. */
int census_enter(struct census *c, uint32_t program, uint32_t symbol, uint32_t height,
		 bool is_alone, uint32_t *ret_key);

/* What the caller has noted as newest; INT_MAP_NONE: there is no such key. */
uint32_t census_newest(const struct census *c, uint32_t program, uint32_t symbol, uint32_t height);

/* So many calls; all are voted for before the first is counted. */
void census_vote(struct census *c, uint32_t key, const struct census_caller *caller, uint32_t n);
void census_count(struct census *c, uint32_t key, const struct census_caller *caller, uint32_t n);

#endif
