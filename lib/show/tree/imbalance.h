/* SPDX-License-Identifier: MIT */
/*
 * Measures how the ranks of an MPI job differ in a call tree: for each node, the largest sum of a
 * rank, which rank has that sum, and the sum of all ranks. The maximum divided by the mean is the
 * usual measure of imbalance: it is 1 if all ranks do the same, and N if one rank of N does
 * everything.
 */
#ifndef TREE_IMBALANCE_H
#define TREE_IMBALANCE_H

#include "base/buf.h"
#include "tree/calltree.h"

struct imbalance_node {
	uint64_t most; /* the largest sum of any rank, for the node and everything below it */
	uint64_t sum;  /* of all ranks */
	uint32_t rank; /* the rank that has `most`; of equal ones, the lowest */
};

struct imbalance {
	struct imbalance_node *nodes; /* by node of the tree; owned. NULL: fewer than two ranks */
	uint32_t ranks;		      /* number of ranks that have entries */
};

/* Sums up by rank, for a tree that was made from the `n` entries of its profile whose numbers are
 * in `entries` (or for the large nodes of such a tree). Processes without a rank are left out.
 * `imbalance` must be zeroed or have an earlier result, which is freed. Returns 0, -ENOMEM, or an
 * error of store_reader_records(). */
int imbalance_make(struct profile *profile, const struct calltree *tree, const uint32_t *entries,
		   uint32_t n, struct imbalance *imbalance);

/* Frees the sums and zeroes `imbalance`; it may be zeroed already. */
void imbalance_free(struct imbalance *imbalance);

#define IMBALANCE_COLUMN 16

/* Appends the column of a row, the ratio and the rank: " 1.52 3". If memory is short, the row is
 * marked as failed. */
void imbalance_put(const struct imbalance *imbalance, uint32_t node, struct buf *row);

#endif
