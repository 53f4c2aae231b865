/* SPDX-License-Identifier: MIT */
/*
 * Leaves out a profile's rare paths. A machine that compiles or tests takes most of its call paths
 * once, so nearly all that it sends would be paths that nobody looks at. Of the tree of a
 * profile's paths the nodes with the largest sums stay, those of all their callers with them. A
 * sample whose path was left out counts for the nearest caller that stays, below a frame
 * `[paths not sent]`, so sums remain, and nothing is shown as observed that was not.
 */
#ifndef ROWS_RARE_H
#define ROWS_RARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

#define RARE_NAME "[paths not sent]"

/* Sets nodes[i] for each node of the tree that entries need: of these, the `most` with the largest
 * sums of weight; 0: all. `nodes` has an item for each node, all false. 0 or -ENOMEM. */
int rare_choose(struct profile *profile, size_t most, bool *nodes);

/* Returns the nearest node towards the root that was chosen, `node` itself included; 0: none. */
uint32_t rare_keeper(const struct store_tables *tables, const bool *nodes, uint32_t node);

/* Returns the number, in the column file_id, of the object that RARE_NAME stands in. */
uint64_t rare_file_id(void);

#endif
