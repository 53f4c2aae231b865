/* SPDX-License-Identifier: MIT */
/*
 * Where the frames of a call tree come from: for each node its samples by the source of their
 * frame there (stack/origin.h), and those of which neither the walk nor memory says so as well.
 */
#ifndef TREE_FRAME_SOURCES_H
#define TREE_FRAME_SOURCES_H

#include "base/buf.h"
#include "tree/calltree.h"

struct frame_source_counts {
	uint64_t by[FRAME_SOURCE_COUNT];
	uint64_t unsure; /* of all, with a confidence below 100 % */
};

struct frame_sources {
	struct frame_source_counts *nodes; /* by node of the tree; owned */
	uint32_t n;
	struct frame_source_counts
		all; /* frames of all samples, marks and inlined functions left out */
};

/* Of a tree that holds the `n` entries of its profile with the numbers `entries`. What was there
 * before is freed. 0 or -ENOMEM. */
int frame_sources_make(struct profile *profile, const struct calltree *tree,
		       const uint32_t *entries, uint32_t n, struct frame_sources *sources);
void frame_sources_free(struct frame_sources *sources); /* a zeroed one is fine */

/* Does any path of a profile have frames of branch records? */
bool frame_sources_has_branches(const struct profile *profile);

/* "br 61 wa 39?": the shares of a node's sources, in percent, largest first, as far as they fit
 * into FRAME_SOURCES_COLUMN characters; the mark says that some are not verified. */
#define FRAME_SOURCES_COLUMN 14
void frame_sources_put(const struct frame_source_counts *counts, struct buf *row);

/* What the letters mean, and the sums: "# frames from: ...". */
void frame_sources_put_sum(const struct frame_source_counts *all, struct buf *row);

#endif
