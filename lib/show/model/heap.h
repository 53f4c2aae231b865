/* SPDX-License-Identifier: MIT */
/*
 * Sums up the live heap of each process of a recording over time (docs/ALLOC.md): the bytes that
 * its sampled allocations stand for, without those of blocks that have been freed. When a process
 * ends, its heap keeps its size in the sum. Peaks are unbiased estimates (model/heap_peak.h).
 */
#ifndef MODEL_HEAP_H
#define MODEL_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "store/store_reader.h"

struct heap_process {
	uint64_t allocated, freed; /* bytes */
	uint64_t samples;	   /* allocations that were sampled */
	/* The peak is an estimate of its own, so it can be below what is estimated to be live at
	 * the end, by chance: docs/ALLOC.md, "Peaks". */
	uint64_t peak;
	/* squares of the standard errors of the peak, and of what is live at the end; 0 if the
	 * recording has no errors */
	double peak_variance, live_variance;
	/* CLOCK_MONOTONIC: the estimated moment of the peak */
	uint64_t peak_ns;
	uint64_t *bins; /* the most bytes that were live in each bin */
};

/* The part of a record that was in its process's heap at the heap's peak: allocations add their
 * part to the peak, frees subtract theirs. */
struct heap_part {
	uint64_t bytes;
	/* `bytes` as a share of the record's bytes; the same share of its variance counts */
	double share;
};

struct heap_parts {
	struct heap_part *items; /* by the number of the record in its series */
	size_t n;
};

struct heap {
	struct heap_process *processes; /* by number */
	size_t n_processes, n_bins;
	/* parts of the records of SERIES_ALLOC_BYTES, and of SERIES_FREED_BYTES */
	struct heap_parts made, ended;
};

/* Sums up until `to_ns` (CLOCK_MONOTONIC, inclusive). The `n_bins` bins (0: none) divide the time
 * from the recording's start to its end, or to `to_ns`. Returns 0, -ENOMEM, or an error of
 * store_reader_records(). The caller releases *ret_heap. */
int heap_sum_up(struct store_reader *reader, uint64_t to_ns, size_t n_bins, struct heap *ret_heap);
void heap_release(struct heap *heap);

/* Returns what is live at the end, in bytes. */
uint64_t heap_process_live(const struct heap_process *process);

/* Returns the bytes up to which a picture of the process's bins reaches; at least 1. */
uint64_t heap_process_most(const struct heap_process *process, size_t n_bins);

/* Returns the part (struct heap_part) of the record with this number in its series. */
struct heap_part heap_part_at(const struct heap_parts *parts, size_t number);

#endif
