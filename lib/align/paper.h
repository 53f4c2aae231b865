/* SPDX-License-Identifier: MIT */
/*
 * The alignment of Servat et al., "Bio-inspired call-stack reconstruction" (2016), as it is:
 * what ours (align/align.h) is measured against.
 *
 * The pivot is the routine that most samples contain (of several, the one met first). The samples
 * that contain it are aligned in order of time, each with the one before, so that the pivot (its
 * first frame from the root, where a sample has several) stands at one height: a sample whose
 * pivot is lower gets gaps below, filled with the frames of the one before; where it is higher,
 * all earlier ones get gaps, filled with its frames. Then, in order of time, the samples without
 * the pivot: by the first of its frames, from the leaf, whose routine an aligned sample contains,
 * against the sample that was aligned last of those.
 *
 * The paper moves all earlier samples at each insertion. Here each sample holds which frame its
 * first one stands on, told once: the result is the same, in time linear in the frames.
 */
#ifndef ALIGN_PAPER_H
#define ALIGN_PAPER_H

#include <stddef.h>
#include <stdint.h>

struct paper;

/* Samples in order of time: the routines of sample i, root first, are
 * symbols[first[i] .. first[i + 1]). Both are borrowed. 0, -ENOMEM; -EINVAL: a sample without
 * frames. */
int paper_align(const uint32_t *symbols, const uint32_t *first, uint32_t n_samples,
		struct paper **ret_paper);
void paper_free(struct paper *paper);

#define PAPER_NONE UINT32_MAX

/* The pivot's symbol; PAPER_NONE: there are no samples. */
uint32_t paper_pivot(const struct paper *paper);

/* The aligned path of a sample, root first, to `ret_symbols`, which has room for `max`. How many
 * there are, also if that is more; 0: the sample could not be aligned. */
size_t paper_path(const struct paper *paper, uint32_t sample, uint32_t *ret_symbols, size_t max);

#endif
