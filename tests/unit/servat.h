/* SPDX-License-Identifier: MIT */
/*
 * The alignment of Servat et al., "Bio-inspired call-stack reconstruction for performance analysis"
 * (2016), as published: the reference that lib/record/align is tested and measured against.
 *
 * It is a progressive multiple sequence alignment of segments (the top frames of stacks). The pivot
 * is the function that most segments contain; of several, the one that occurs first. Step one
 * aligns the segments that contain the pivot in order of time, each with its predecessor, so that
 * the pivots (the occurrence nearest to the root) have one depth. Where a segment's pivot is nearer
 * to its first frame than its predecessor's, gaps are inserted at the segment's root side and
 * filled with the predecessor's frames; where it is farther, gaps are inserted into all earlier
 * segments and filled with the new segment's frames. Step two aligns the segments without the
 * pivot in order of time: the first frame, from the leaf, whose function occurs in an aligned
 * segment is aligned with the segment that was aligned last of those.
 *
 * The paper moves all earlier segments at each insertion. Here each segment stores which frame its
 * first frame continues on, which gives the same result in time linear in the frames.
 */
#ifndef TESTS_SERVAT_H
#define TESTS_SERVAT_H

#include <stddef.h>
#include <stdint.h>

struct servat;

/* Aligns segments that are in order of time. Segment i has the symbols
 * symbols[first[i] .. first[i + 1]), root first. Both arrays are borrowed. Returns 0, -ENOMEM, or
 * -EINVAL for a segment without frames. */
int servat_align(const uint32_t *symbols, const uint32_t *first, uint32_t n_segments,
		 struct servat **ret_servat);

/* Frees an alignment; NULL is allowed. */
void servat_free(struct servat *servat);

#define SERVAT_NONE UINT32_MAX

/* Returns the symbol of the pivot; SERVAT_NONE if there are no segments. */
uint32_t servat_pivot(const struct servat *servat);

/* Writes the aligned path of a segment, root first, to `ret_symbols`, which has room for `max`.
 * Returns its full length, even if that exceeds `max`; 0 if the segment could not be aligned. */
size_t servat_path(const struct servat *servat, uint32_t segment, uint32_t *ret_symbols,
		   size_t max);

#endif
