/* SPDX-License-Identifier: MIT */
/* Allocates extents of elements in an array of the kernel half, first fit, and finds the extent
 * that costs least to clear. It keeps only the list of taken extents. */
#ifndef TABLES_EXTENTS_H
#define TABLES_EXTENTS_H

#include <stdint.h>

struct extents;

int extents_new(uint32_t size, struct extents **ret_extents); /* 0 or -ENOMEM */
void extents_free(struct extents *extents);		      /* NULL is fine */

/* Takes `count` consecutive elements for an owner: a number other than 0, by which
 * extents_cheapest() names them. *ret_first is the first element. 0; -ENOSPC: there are not so many
 * consecutive free elements; -E2BIG: the whole array is shorter; -ENOMEM. */
int extents_take(struct extents *extents, uint32_t count, uint32_t owner, uint32_t *ret_first);

/* Frees the extent that begins at `first`, which extents_take() gave. */
void extents_give(struct extents *extents, uint32_t first);

/* Finds the `count` consecutive elements whose owners have the lowest sum of costs. *ret_first is
 * the first of them, *ret_cost the sum: 0 if none of them is taken. cost() returns what an owner
 * costs; sums must stay below UINT64_MAX. 0; -E2BIG: the whole array is shorter. */
int extents_cheapest(const struct extents *extents, uint32_t count,
		     uint64_t (*cost)(const void *arg, uint32_t owner), const void *arg,
		     uint32_t *ret_first, uint64_t *ret_cost);

/* Returns the owner of the first taken element of `count` from `first` on; 0: none is taken. */
uint32_t extents_owner_within(const struct extents *extents, uint32_t first, uint32_t count);

/* Returns the number of elements that are taken. */
uint32_t extents_used(const struct extents *extents);

#endif
