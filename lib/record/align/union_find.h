/* SPDX-License-Identifier: MIT */
/*
 * A weighted union-find: sets of numbers whose distances from each other are known.
 *
 * Joining two sets by the distance between two members makes all distances within the union known.
 * Union by size and path halving make each operation nearly constant in time (Tarjan, "Efficiency
 * of a good but not linear set union algorithm", 1975).
 */
#ifndef ALIGN_UNION_FIND_H
#define ALIGN_UNION_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct union_find_member {
	uint32_t parent, size;
	int64_t distance; /* from the parent */
};

/* A zeroed struct has no members. */
struct union_find {
	VEC(struct union_find_member) members;
};

/* Frees the members and leaves an empty struct. */
void union_find_fini(struct union_find *sets);

/* Adds a member in a set of its own. Members are numbered from 0. Returns 0 or -ENOMEM. */
int union_find_add(struct union_find *sets);

/* Returns the representative of a member's set. `ret_distance` receives the distance of the member
 * from it. */
uint32_t union_find_find(struct union_find *sets, uint32_t member, int64_t *ret_distance);

/* Joins two sets so that `a` has `distance` from `b`. Returns false and changes nothing if both are
 * in one set already. */
bool union_find_join(struct union_find *sets, uint32_t a, uint32_t b, int64_t distance);

#endif
