/* SPDX-License-Identifier: MIT */
/*
 * Tests whether samples hit a region evenly, at all of its moments.
 *
 * Folding needs samples that are spread over the normalised time. If the sampling period is in step
 * with the region's period ("locked"), samples hit the same moments in every pass, and nothing is
 * known of the other moments. Kuiper's statistic, the sum of the largest deviations above and below
 * the uniform distribution, detects this wherever in the region the hits are; Kolmogorov and
 * Smirnov's is less sensitive near the ends. With many points, deviations without consequence
 * become significant, so the verdict also depends on how much of the time was hit.
 */
#ifndef FOLD_MATH_UNIFORM_H
#define FOLD_MATH_UNIFORM_H

#include <stddef.h>

enum fold_uniformity {
	FOLD_TOO_FEW, /* fewer than 40 points */
	FOLD_UNIFORM, /* no deviation that matters was found */
	FOLD_UNEVEN,  /* some moments are hit more often than others, but all are hit */
	/* The sampling is locked to the region's period: parts of the region are never hit. */
	FOLD_LOCKED,
};

struct fold_uniform {
	size_t n;
	double statistic; /* Kuiper's V, from 0 (uniform) to 1 (all at one moment) */
	double p;	  /* probability of at least this V if hits are uniform */
	/* share of the time in which samples hit, by parts of the time that have 8 points on
	 * average */
	double hit;
	double gap, gap_from; /* length of the longest stretch without a hit, and where it begins */
	enum fold_uniformity verdict;
};

/* Tests `n` moments in [0, 1], and sorts them. Fills *ret. Returns 0; -ERANGE: a moment is not in
 * [0, 1], and the order of `x` is undefined. */
int fold_uniform_test(double *x, size_t n, struct fold_uniform *ret);

#endif
