/* SPDX-License-Identifier: MIT */
/* Lists the functions of a call tree with their self and total samples. */
#ifndef TREE_FLAT_H
#define TREE_FLAT_H

#include "tree/calltree.h"

struct flat_row {
	uint32_t symbol;
	uint64_t self; /* samples that hit in the function */
	/* samples that have the function anywhere in their path, each counted once */
	uint64_t total;
	uint64_t inferred; /* those of `total` in which the function's frame is inferred */
};

struct flat {
	struct flat_row *rows; /* most self first, then most total, then by name */
	uint32_t n;
};

/* Makes the list of a tree, which must have been made with CALLTREE_BY_SYMBOL and summed up. The
 * caller frees it with flat_free(). Returns 0 or -ENOMEM. */
int flat_make(const struct profile *profile, const struct calltree *tree, struct flat *ret_flat);

/* Frees the rows and zeroes the list; a zeroed list is allowed. */
void flat_free(struct flat *flat);

#endif
