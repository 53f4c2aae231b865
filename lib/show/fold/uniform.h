/* SPDX-License-Identifier: MIT */
/*
 * Whether samples hit a region at all moments alike.
 *
 * Folding needs samples that are spread over the normalised time. If the sampler's period is locked
 * to the region's, they hit the same moments in every instance, and nothing is known of the others.
 * Kuiper's statistic, the sum of the largest deviations of the distribution above and below that of
 * the uniform one, sees this wherever in the region the hits are; Kolmogorov's and Smirnov's would
 * see less of it near the ends. A large number of points makes deviations significant that are of
 * no consequence, so the verdict also asks how much of the time was hit.
 */
#ifndef FOLD_UNIFORM_H
#define FOLD_UNIFORM_H

#include <stddef.h>

enum fold_uniformity {
	FOLD_TOO_FEW, /* points to tell: fewer than 40 */
	FOLD_UNIFORM, /* as far as can be told */
	FOLD_UNEVEN,  /* some moments are hit more often than others, but all are hit */
	FOLD_LOCKED,  /* to the region's period: parts of the region are never hit */
};

struct fold_uniform {
	size_t n;
	double statistic; /* Kuiper's V, from 0 (uniform) to 1 (all at one moment) */
	double p;	  /* the probability of such a V, or a larger one, if hits are uniform */
	double hit; /* the share of the time with hits, in parts that 8 points fall into on average
		     */
	double gap, gap_from; /* the longest stretch without a hit, and where it begins */
	enum fold_uniformity verdict;
};

/* Tests `n` moments in [0, 1], which it sorts. Fills *ret. Returns 0, or -ERANGE, with an undefined
 * order of `x`, if one is not in [0, 1]. */
int fold_uniform_test(double *x, size_t n, struct fold_uniform *ret);

#endif
