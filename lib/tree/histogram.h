/* SPDX-License-Identifier: MIT */
/* When samples were taken: counts in equal steps of time, by part of a profile, each with the
 * function that was hit most in it. */
#ifndef TREE_HISTOGRAM_H
#define TREE_HISTOGRAM_H

#include "tree/partition.h"

struct histogram_bin {
	uint64_t samples;
	uint64_t symbol_samples; /* of them, those that hit in `symbol` */
	uint32_t symbol;	 /* that was hit most; UINT32_MAX in an empty bin */
};

struct histogram {
	uint64_t from_ns, step_ns;  /* since the recording's start */
	uint32_t n_bins;	    /* of each part */
	struct histogram_bin *bins; /* of part p: bins[p * n_bins ..] */
};

#define HISTOGRAM_MAX_BINS 10000u

/* `n_bins` steps over the time that the filter leaves. 0, -ENOMEM, or what the reader says. */
int histogram_make(const struct partition *partition, uint32_t n_bins,
		   struct histogram *ret_histogram);
void histogram_free(struct histogram *histogram);

#endif
