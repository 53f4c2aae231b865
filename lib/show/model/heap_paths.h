/* SPDX-License-Identifier: MIT */
/*
 * Sums up by call path (docs/ALLOC.md): the bytes allocated, the bytes live, and the bytes at the
 * process's peak, with standard errors; the ages at which blocks were freed; and when the live
 * blocks were allocated.
 *
 * An allocation has one record in each of several series (bytes, error, blocks), and a free also
 * one in a further series (age). The n-th records of these series belong together.
 */
#ifndef MODEL_HEAP_PATHS_H
#define MODEL_HEAP_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/heap.h"
#include "model/profile.h"

#define HEAP_PATHS_BINS 20 /* bins of `live_since`, from the recording's start to to_ns */

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
	/* the part of `live` in blocks whose age is at least heap_paths_options.older_ns */
	struct heap_estimate old;
	struct heap_estimate peak;   /* at the peaks of its processes */
	struct heap_estimate change; /* of `live`, between from_ns and to_ns */
	/* live_objects: blocks that are live at to_ns; live_first: bytes that were live at
	 * from_ns */
	double live_objects, live_first;
	double ended, ended_ns; /* bytes that were freed; sum of these bytes times their age */
	/* bytes of `live`, by the bin in which they were allocated */
	double live_since[HEAP_PATHS_BINS];
};

struct heap_paths_options {
	uint64_t from_ns;  /* the first moment (CLOCK_MONOTONIC) */
	uint64_t older_ns; /* age from which on blocks count in `old`; 0: all do */
};

struct heap_paths {
	struct heap_path *items; /* in the order of their first records */
	size_t n;
	bool has_errors; /* if false, the recording has no errors, and all variances are 0 */
	uint64_t from_ns, to_ns; /* the first and the last moment */
	uint64_t start_ns;	 /* start of the recording */
};

/* Sums up the records that the profile's filter selects. `heap` has the peaks of the processes.
 * Returns 0, -ENOMEM, or an error of store_reader_records(). */
int heap_paths_sum_up(const struct profile *profile, const struct heap *heap,
		      const struct heap_paths_options *options, struct heap_paths *ret_paths);
void heap_paths_release(struct heap_paths *paths);

#endif
