/* SPDX-License-Identifier: MIT */
/*
 * Runs of consecutive samples of one thread that have the same function at the same depth: the
 * selection of representative routines of Servat et al., "Bio-inspired call-stack reconstruction
 * for performance analysis" (2016).
 *
 * The paper searches depth by depth: at depth 1, consecutive samples with the same function make a
 * run; runs that reach the threshold are kept, and the search descends inside them. Two samples are
 * in one run at a depth if and only if they share all functions from the root up to it, so one pass
 * over the samples with a stack of open runs finds the same runs. The parent of a kept run is
 * always kept, because it is at least as long.
 */
#ifndef MODEL_FRAME_RUNS_H
#define MODEL_FRAME_RUNS_H

#include <stddef.h>
#include <stdint.h>

/* A run of samples. It lives only during the call of the frame_runs_each() that receives it. */
struct frame_run {
	uint32_t depth; /* the root has depth 1 */
	uint32_t symbol;
	uint32_t parent; /* the symbol at depth - 1; UINT32_MAX at depth 1 */
	uint32_t grandparent;
	uint64_t first, last; /* sample numbers, from 0 */
	uint64_t start, end;  /* times of the first sample and of the one after the last */
};

struct frame_runs_options {
	uint64_t samples; /* Runs with fewer samples are dropped. */
	/* Runs shorter than this are dropped; in the unit of the samples' times. */
	uint64_t duration;
	uint32_t max_depth; /* Deeper frames are ignored; 0 means no limit. */
};

/* Receives each kept run when it ends, callees before their callers. A non-zero return value ends
 * the pass and is returned by the function that was called. */
typedef int (*frame_runs_each)(void *arg, const struct frame_run *run);

struct frame_runs;

/* Creates a pass over one thread's samples. The options are copied. Returns 0 or -ENOMEM. */
int frame_runs_new(const struct frame_runs_options *options, frame_runs_each each, void *arg,
		   struct frame_runs **ret_runs);

/* Frees a pass; NULL is allowed. Runs that are still open are not reported. */
void frame_runs_free(struct frame_runs *runs);

/* Adds the next sample with its symbols, root first; the times of successive samples must not
 * decrease. Returns 0, -ENOMEM, or what `each` returned. */
int frame_runs_add(struct frame_runs *runs, uint64_t time, const uint32_t *symbols,
		   size_t n_symbols);

/* Closes all open runs; the last sample lasts until `time`. Returns 0 or what `each` returned. */
int frame_runs_end(struct frame_runs *runs, uint64_t time);

#endif
