/* SPDX-License-Identifier: MIT */
/* Counts samples over time, in equal steps, for each part of a profile; also finds the function
 * with most samples in each step. */
#ifndef TREE_HISTOGRAM_H
#define TREE_HISTOGRAM_H

#include "tree/partition.h"

struct histogram_bin {
	uint64_t samples;
	uint64_t symbol_samples; /* of `samples`, those that hit in `symbol` */
	uint32_t symbol;	 /* the function with most samples; UINT32_MAX in an empty bin */
};

struct histogram {
	uint64_t from_ns, step_ns;  /* since the recording's start */
	uint32_t n_bins;	    /* of each part */
	struct histogram_bin *bins; /* part p has bins[p * n_bins] and those after it */
};

#define HISTOGRAM_MAX_BINS 10000u

/* Counts in `n_bins` equal steps, at least 1, over the time that the filter selects. The caller
 * frees the result with histogram_free(). Returns 0; -ENOMEM; -EOVERFLOW: parts times bins exceed
 * 32 bits; or an error of store_reader_samples(). */
int histogram_make(const struct partition *partition, uint32_t n_bins,
		   struct histogram *ret_histogram);

/* Frees the bins and zeroes the histogram; it may be zeroed already. */
void histogram_free(struct histogram *histogram);

#endif
