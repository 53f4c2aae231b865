/* SPDX-License-Identifier: MIT */
/* Paths that are still to be followed, and their hints about jump tables (jump_table.h). Most paths
 * have no hints. */
#ifndef ANALYSIS_WORKLIST_H
#define ANALYSIS_WORKLIST_H

#include "analysis/jump_table.h"
#include "base/vec.h"

struct work_item {
	uint32_t at, state, owner;
	uint32_t hints; /* a number from hint_pool_keep() */
};

struct worklist { /* zeroed is empty; the last item is taken first */
	struct work_item *items;
	size_t count, cap;
};

#define HINT_POOL_NONE UINT32_MAX

struct hint_pool { /* zeroed is empty */
	VEC(struct jump_hints) items;
	VEC(uint32_t) free; /* unused numbers; has room for all of items */
};

/* Appends a copy of `work`. Returns 0 or -ENOMEM. */
int worklist_push(struct worklist *list, const struct work_item *work);

/* Keeps a copy of hints, and returns its number; HINT_POOL_NONE if there are none, or no room. A
 * path that loses its hints cannot follow jump tables, but is right otherwise. */
uint32_t hint_pool_keep(struct hint_pool *pool, const struct jump_hints *hints);

/* Gives the hints that hint_pool_keep() has kept under a number, and frees the number. */
void hint_pool_take(struct hint_pool *pool, uint32_t number, struct jump_hints *ret_hints);

/* Frees the pool, and leaves it empty. */
void hint_pool_fini(struct hint_pool *pool);

#endif
