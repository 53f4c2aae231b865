/* SPDX-License-Identifier: MIT */
/*
 * What each process of a recording had allocated, over time (docs/ALLOC.md): the sum of its sampled
 * allocations, each by the bytes that it stands for, less those that have ended. Of a process that
 * has ended, what it had then stays.
 */
#ifndef MODEL_HEAP_H
#define MODEL_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "store/store_reader.h"

struct heap_process {
	uint64_t allocated, freed; /* bytes */
	uint64_t samples;	   /* allocations that were sampled */
	uint64_t peak;
	uint64_t peak_ns; /* CLOCK_MONOTONIC: the first moment of the peak */
	uint64_t *bins;	  /* the most that was live in each part of the time */
	size_t bin;	  /* the last of these with a change */
};

struct heap {
	struct heap_process *processes; /* by number */
	size_t n_processes, n_bins;
};

/* Adds up until `to_ns` (CLOCK_MONOTONIC, inclusive). The bins divide the time from the recording's
 * start to its end, or to `to_ns`; `n_bins` may be 0. 0; -ENOMEM; or an error of
 * store_reader_records(). */
int heap_sum_up(struct store_reader *reader, uint64_t to_ns, size_t n_bins, struct heap *ret_heap);
void heap_release(struct heap *heap);

#endif
