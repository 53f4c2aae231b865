/* SPDX-License-Identifier: MIT */
/*
 * Who called a routine at a height, in all stacks of a program: threads of one pool, and runs of
 * one compiler, do the same things at the same heights.
 */
#ifndef ALIGN_CENSUS_H
#define ALIGN_CENSUS_H

#include "align/triples.h"

struct census_caller {
	uint32_t id, symbol, height;
	uint32_t count;
};

struct census_key {
	uint32_t total;
	uint32_t most; /* the caller that was seen most often */
};

/* Zeroed is empty. */
struct census {
	struct triples keys;	/* (program, symbol, height) */
	struct triples callers; /* (key, caller's id, caller's height) */
	VEC(struct census_key) by_key;
	VEC(struct census_caller) by_caller;
};

void census_fini(struct census *c);

/* Counts calls: `caller->count` of them. 0 or -ENOMEM. */
int census_add(struct census *c, uint32_t program, uint32_t symbol, uint32_t height,
	       const struct census_caller *caller);

/* The caller seen most often, with how often any was; NULL: none was. */
const struct census_caller *census_ask(const struct census *c, uint32_t program, uint32_t symbol,
				       uint32_t height, uint32_t *ret_total);

#endif
