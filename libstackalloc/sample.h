/* SPDX-License-Identifier: MIT */
/*
 * Which allocations are sampled. Bytes that a thread allocates are counted down from a distance
 * that is drawn anew after each sample, exponentially distributed with mean R: so each byte has the
 * same chance of being hit, whatever the sizes of the blocks before, and a block of S bytes is hit
 * with probability p = 1 - exp(-S/R). A sample stands for S/p bytes; the sum of these weights is an
 * unbiased estimate of all bytes. (Poisson sampling with Horvitz-Thompson's estimator, as in Go's
 * and tcmalloc's heap profiles.)
 *
 * A block of no bytes counts as one of one byte.
 */
#ifndef LIBSTACKALLOC_SAMPLE_H
#define LIBSTACKALLOC_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe.h"

#define SAMPLE_DISTANCE (512u << 10) /* mean, in bytes, unless STACKALLOC_BYTES says otherwise */

/* Bytes that the thread may still allocate before the next sample. */
extern __thread int64_t sample_left PROBE_HIDDEN;

/* Samples that the thread has taken. With `sample_left` unchanged, nothing was counted meanwhile.
 */
extern __thread uint64_t sample_taken PROBE_HIDDEN;

/* Counts an allocation. Whether it may be one to sample: then sample_take() decides. */
static inline bool sample_is_due(size_t size)
{
	sample_left -= (int64_t)(size + !size);
	return __builtin_expect(sample_left < 0, 0);
}

/* Decides for an allocation that is due, and draws the next distance. Returns what it stands for in
 * bytes; 0: it is not sampled, since the thread's first distance was only drawn now, or it was not
 * `made` at all: one distance is as good as another, as long as nothing but chance ends it. */
uint64_t sample_take(size_t size, bool is_made) PROBE_HIDDEN;

/* Sets the mean distance; 0 is the default. Before threads begin; else the first sample_take()
 * reads it from the environment. */
void sample_set_distance(uint64_t bytes) PROBE_HIDDEN;

/* Draws other numbers than the parent from now on: for the child of a fork. */
void sample_begin_anew(void) PROBE_HIDDEN;

#endif
