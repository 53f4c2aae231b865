/* SPDX-License-Identifier: MIT */
/*
 * Counts from where the frames of a call tree come (stack/origin.h): for each node, its samples by
 * the source of their frame at the node, and the samples whose frame is less than certain.
 */
#ifndef TREE_FRAME_SOURCES_H
#define TREE_FRAME_SOURCES_H

#include "base/buf.h"
#include "stack/provenance.h"
#include "tree/calltree.h"

struct frame_source_counts {
	uint64_t by[FRAME_SOURCE_COUNT]; /* samples */
	uint64_t unsure; /* samples of all sources whose frame has a confidence below 100 % */
	uint64_t rules[PROVENANCE_COUNT]; /* walked samples, by the provenance of the unwinding rule
					   * that found the frame's caller */
};

struct frame_sources {
	struct frame_source_counts *nodes; /* by node of the tree; owned */
	uint32_t n;
	/* sum over the frames of all samples, except for marks and inlined functions */
	struct frame_source_counts all;
};

/* Counts for a tree that was made from the `n` entries of its profile whose numbers are in
 * `entries`. `sources` must be zeroed or have an earlier result, which is freed. Returns 0 or
 * -ENOMEM. */
int frame_sources_make(struct profile *profile, const struct calltree *tree,
		       const uint32_t *entries, uint32_t n, struct frame_sources *sources);

/* Frees the counts and zeroes `sources`; it may be zeroed already. */
void frame_sources_free(struct frame_sources *sources);

/* Returns whether any path of a profile has frames that come from branch records. */
bool frame_sources_has_branches(const struct profile *profile);

/* Returns whether any walk of a recording used a rule that does not come from unwind information.
 */
bool frame_sources_has_weak_rules(const struct profile *profile);

/* Appends the shares of a node's sources in percent, largest first, as far as they fit into
 * FRAME_SOURCES_COLUMN characters: "br 61 wa 39?". Walked frames whose rule does not come from
 * unwind information have letters of their own ("fp 39"). '?' means that some of the frames are
 * less than certain. */
#define FRAME_SOURCES_COLUMN 14
/* Appends this column to a row. If memory is short, the row is marked as failed. */
void frame_sources_put(const struct frame_source_counts *counts, struct buf *row);

/* Appends the legend of the letters with the shares of all frames: "# frames from: ...". */
void frame_sources_put_sum(const struct frame_source_counts *all, struct buf *row);

#endif
