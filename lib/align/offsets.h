/* SPDX-License-Identifier: MIT */
/*
 * A weighted union-find: sets of numbers whose distances to each other are known.
 *
 * Joining two sets by one known distance makes all distances between their members known, in
 * nearly constant time (union by size, path halving), however large they are.
 */
#ifndef ALIGN_OFFSETS_H
#define ALIGN_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct offsets_member {
	uint32_t parent, size;
	int64_t offset; /* above the parent */
};

/* Zeroed is empty. */
struct offsets {
	VEC(struct offsets_member) members;
};

void offsets_fini(struct offsets *o);

/* One more member, numbered from 0, in a set of its own. 0 or -ENOMEM. */
int offsets_add(struct offsets *o);

/* The set's representative, and how far `member` is above it. */
uint32_t offsets_find(struct offsets *o, uint32_t member, int64_t *ret_above);

/* Puts `a` at `distance` above `b`. False, with nothing changed, if they are in one set. */
bool offsets_join(struct offsets *o, uint32_t a, uint32_t b, int64_t distance);

#endif
