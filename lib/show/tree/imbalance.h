/* SPDX-License-Identifier: MIT */
/*
 * How the ranks of an MPI job differ in a call tree: for each node the most that one rank has below
 * it, which rank that is, and what all have together. The most over the mean is the usual measure
 * of imbalance: at 1 all do the same, and at N one of N does it all.
 */
#ifndef TREE_IMBALANCE_H
#define TREE_IMBALANCE_H

#include "base/buf.h"
#include "tree/calltree.h"

struct imbalance_node {
	uint64_t most; /* of the node and everything below it */
	uint64_t sum;  /* of all ranks */
	uint32_t rank; /* the one with the most, the first of equal ones */
};

struct imbalance {
	struct imbalance_node *nodes; /* by node of the tree; owned. NULL: fewer than two ranks */
	uint32_t ranks;		      /* that have any entry */
};

/* Sums up by rank, for a tree that holds the `n` entries of its profile whose numbers are in
 * `entries`, or the large nodes of these. Processes without a rank are left out. `imbalance` must
 * be zeroed or hold an earlier result, which is freed. Returns 0, -ENOMEM, or an error of
 * store_reader_records(). */
int imbalance_make(struct profile *profile, const struct calltree *tree, const uint32_t *entries,
		   uint32_t n, struct imbalance *imbalance);

/* Frees the sums and zeroes `imbalance`, which may be zeroed already. */
void imbalance_free(struct imbalance *imbalance);

/* Returns the most over the mean of all ranks, 0 where none has anything. */
double imbalance_ratio(const struct imbalance *imbalance, uint32_t node);

#define IMBALANCE_COLUMN 16

/* Appends the column of a row: "      1.52     3", the ratio and the rank. On lack of memory the
 * row is marked as failed. */
void imbalance_put(const struct imbalance *imbalance, uint32_t node, struct buf *row);

#endif
