/* SPDX-License-Identifier: MIT */
/*
 * Which allocations are sampled. The bytes that a thread allocates are counted down from a
 * distance, which is drawn anew after each sample, exponentially distributed with mean R. So each
 * byte has the same chance of being hit, whatever the sizes of the blocks before, and a block of S
 * bytes is hit with probability p = 1 - exp(-S/R). A sample represents S/p bytes; the sum of these
 * weights is an unbiased estimate of all bytes. (Poisson sampling with Horvitz-Thompson's
 * estimator, as in Go's and tcmalloc's heap profiles.)
 *
 * A block of 0 bytes counts as one byte.
 */
#ifndef LIBSTACKALLOC_SAMPLE_H
#define LIBSTACKALLOC_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe.h"

#define SAMPLE_DISTANCE (512u << 10) /* mean, in bytes, unless STACKALLOC_BYTES sets it */

/* Bytes that the thread may still allocate before the next sample. */
extern __thread int64_t sample_left PROBE_HIDDEN;

/* Samples that the thread has taken. If this and `sample_left` are unchanged, nothing was counted.
 */
extern __thread uint64_t sample_taken PROBE_HIDDEN;

/* Counts an allocation. Returns whether a sample may be due: then sample_take() decides. */
static inline bool sample_is_due(size_t size)
{
	sample_left -= (int64_t)(size + !size);
	return __builtin_expect(sample_left < 0, 0);
}

/* Decides whether an allocation that is due is sampled, and draws the next distance. Returns the
 * bytes that it represents; 0: it is not sampled, since the thread's first distance was drawn only
 * now, or since the allocation failed (`is_made` is false). Drawing anew adds no bias, since an
 * exponential distribution has no memory. */
uint64_t sample_take(size_t size, bool is_made) PROBE_HIDDEN;

/* Sets the mean distance; 0 is the default. Call it before threads begin. Without this call, the
 * first sample_take() reads the distance from the environment. */
void sample_set_distance(uint64_t bytes) PROBE_HIDDEN;

/* Makes the random numbers differ from the parent's from now on, for the child of a fork. */
void sample_begin_anew(void) PROBE_HIDDEN;

#endif
