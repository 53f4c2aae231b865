/* SPDX-License-Identifier: MIT */
/*
 * How far the means of cells lie from the curve by chance.
 *
 * A reading is exact within its instance; what makes the means uncertain is that instances differ.
 * The variance is thus estimated from how far the groups of instances lie from the curve, as a
 * function of x: it is 0 at both ends, where all instances agree, and largest between. As points of
 * one instance err together, so do neighbouring cells if instances have many points. A few thousand
 * points of each of a few instances would otherwise show as phases all that is peculiar to these
 * instances. So the variance of contrasts over several cells, which detect breaks, is compared with
 * what it would be if cells were independent, and all variances are raised by that ratio.
 */
#ifndef FOLD_NOISE_H
#define FOLD_NOISE_H

#include "fold/pieces.h"
#include "fold/cells.h"

/* Estimates the variance of a point of mean weight, in each cell, from how far the mean of each
 * cell lies from its two neighbours', without knowing the curve. Sets cells->n values of `ret`. */
void fold_noise_guess(const struct fold_cells *cells, double *ret);

/* Estimates it from the groups' distances from `pieces`; *ret_ratio, at least 1, is the ratio of
 * contrasts' variance. Returns 0 or -ENOMEM. */
int fold_noise_between(const struct fold_cells *cells, const struct fold_pieces *pieces,
		       double *ret, double *ret_ratio);

/* Makes the means of cells that are not empty. The variance of each is that of its points times
 * `ratio`, divided by their number, plus `least`. `ret` has room for `cells`. Returns their number.
 */
uint32_t fold_means(const struct fold_sum *sums, uint32_t cells, double point_weight,
		    const double *variance, double ratio, double least, struct fold_mean *ret);

#endif
