/* SPDX-License-Identifier: MIT */
/*
 * What each call path has allocated, has live and had at its process's peak (docs/ALLOC.md), with
 * standard errors, the ages at which its blocks ended, and when what is live was allocated.
 *
 * Records that belong together (the bytes of an allocation, their error and its blocks; of an end
 * its age, too) are the same ones, in the same order, of several series.
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
	struct heap_estimate live;	 /* at the last moment */
	struct heap_estimate old;	 /* of that: since heap_paths_options.older_ns or longer */
	struct heap_estimate peak;	 /* at its processes' peaks */
	struct heap_estimate change;	 /* of what is live, since the first moment */
	double live_objects, live_first; /* blocks; bytes at the first moment */
	double ended, ended_ns;		 /* bytes that ended, and the sum of bytes times age */
	double live_since[HEAP_PATHS_BINS]; /* of what is live: when it was allocated */
};

struct heap_paths_options {
	uint64_t from_ns;  /* the first moment (CLOCK_MONOTONIC) */
	uint64_t older_ns; /* 0: all that is live */
};

struct heap_paths {
	struct heap_path *items; /* in the order in which they were met first */
	size_t n;
	bool has_errors;	 /* else the recording has none, and variances are 0 */
	uint64_t from_ns, to_ns; /* the first and the last moment */
	uint64_t start_ns;	 /* of the recording */
};

/* Adds up what the profile's filter selects. `heap` has the peaks of the processes. 0; -ENOMEM; or
 * an error of store_reader_records(). */
int heap_paths_sum_up(const struct profile *profile, const struct heap *heap,
		      const struct heap_paths_options *options, struct heap_paths *ret_paths);
void heap_paths_release(struct heap_paths *paths);

#endif
