/* SPDX-License-Identifier: MIT */
/* Room in an array of the kernel half: extents of elements, first fit, no fragmentation memory of
 * its own beyond the list of what is taken. */
#ifndef TABLES_EXTENTS_H
#define TABLES_EXTENTS_H

#include <stdint.h>

struct extents;

int extents_new(uint32_t size, struct extents **ret_extents); /* 0 or -ENOMEM */
void extents_free(struct extents *extents);

/* Takes `count` elements in a row. 0, -ENOSPC, -E2BIG (there never is such room), -ENOMEM. */
int extents_take(struct extents *extents, uint32_t count, uint32_t *ret_first);

/* Gives back what extents_take() gave; `first` names it. */
void extents_give(struct extents *extents, uint32_t first);

uint32_t extents_used(const struct extents *extents);

#endif
