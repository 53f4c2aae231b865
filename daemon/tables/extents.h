/* SPDX-License-Identifier: MIT */
/* Allocates extents of elements in an array of the kernel half, first fit. It keeps the list of
 * taken extents alone. */
#ifndef TABLES_EXTENTS_H
#define TABLES_EXTENTS_H

#include <stdint.h>

struct extents;

int extents_new(uint32_t size, struct extents **ret_extents); /* 0 or -ENOMEM */
void extents_free(struct extents *extents);		      /* NULL is fine */

/* Takes `count` elements in a row. 0, -ENOSPC, -E2BIG (more than the whole array), -ENOMEM. */
int extents_take(struct extents *extents, uint32_t count, uint32_t *ret_first);

/* Frees the extent that begins at `first`, which extents_take() gave. */
void extents_give(struct extents *extents, uint32_t first);

/* Returns the number of elements that are taken. */
uint32_t extents_used(const struct extents *extents);

#endif
