/* SPDX-License-Identifier: MIT */
/*
 * Sums up by call path (docs/ALLOC.md): the bytes allocated, the bytes live, and the bytes at the
 * process's peak, with standard errors; the ages at which blocks were freed; and when the live
 * blocks were allocated.
 *
 * An allocation has a record in each of several series (bytes, error, blocks), and a free one more
 * (age). The records of one event have the same position in all of these series.
 */
#ifndef MODEL_HEAP_PATHS_H
#define MODEL_HEAP_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/heap.h"
#include "model/profile.h"

#define HEAP_PATHS_BINS 20 /* of the time until the last moment */

/* An estimate, and the square of its standard error. */
struct heap_estimate {
	double value, variance;
};

struct heap_path {
	uint32_t node, origin;
	uint8_t end_reason;
	uint64_t samples;
	double allocated, objects;
	struct heap_estimate live; /* at to_ns */
	struct heap_estimate old; /* of `live`: blocks of age heap_paths_options.older_ns or more */
	struct heap_estimate peak;	 /* at its processes' peaks */
	struct heap_estimate change;	 /* of `live`, from from_ns to to_ns */
	double live_objects, live_first; /* blocks at to_ns; bytes at from_ns */
	double ended, ended_ns;		 /* bytes that were freed, and the sum of bytes times age */
	double live_since[HEAP_PATHS_BINS]; /* `live`, by when it was allocated */
};

struct heap_paths_options {
	uint64_t from_ns;  /* the first moment (CLOCK_MONOTONIC) */
	uint64_t older_ns; /* 0: all that is live */
};

struct heap_paths {
	struct heap_path *items; /* in the order of their first records */
	size_t n;
	bool has_errors;	 /* else the recording has none, and variances are 0 */
	uint64_t from_ns, to_ns; /* the first and the last moment */
	uint64_t start_ns;	 /* of the recording */
};

/* Sums up the records that the profile's filter selects. `heap` has the peaks of the processes.
 * Returns 0, -ENOMEM, or an error of store_reader_records(). */
int heap_paths_sum_up(const struct profile *profile, const struct heap *heap,
		      const struct heap_paths_options *options, struct heap_paths *ret_paths);
void heap_paths_release(struct heap_paths *paths);

#endif
