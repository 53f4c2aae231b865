/* SPDX-License-Identifier: MIT */
/*
 * Estimates how far the means of cells lie from the curve by chance.
 *
 * The counter's value at a sample is exact; the means are uncertain because instances differ. So
 * the variance is estimated from the distances of the groups of instances from the curve, as a
 * function of x: it is 0 at both ends, where all instances agree, and largest in between. Points of
 * one instance have errors of the same kind, and so have adjacent cells if instances have many
 * points: with a few thousand points of each of a few instances, everything peculiar to these
 * instances would look like phases. So the variance of contrasts (weighted differences over several
 * cells, which detect breaks) is compared with the variance that they would have if cells were
 * independent, and all variances are raised by that ratio.
 */
#ifndef FOLD_MATH_NOISE_H
#define FOLD_MATH_NOISE_H

#include "fold_math/pieces.h"
#include "fold_math/cells.h"

/* Estimates the variance of a point of mean weight in each cell without knowing the curve: from the
 * distance of the cell's mean to the means of the two cells beside it. Sets cells->n values of
 * `ret`. */
void fold_noise_guess(const struct fold_cells *cells, double *ret);

/* Does the same, from the distances of the groups to `pieces`. *ret_ratio, at least 1, is the ratio
 * by which contrasts vary more than they would if cells were independent. Returns 0 or -ENOMEM. */
int fold_noise_between(const struct fold_cells *cells, const struct fold_pieces *pieces,
		       double *ret, double *ret_ratio);

/* Sets `ret`, which has room for `cells` elements, to the means of the cells that are not empty.
 * The variance of a mean is that of the cell's points times `ratio`, divided by their number, plus
 * `least`. Returns the number of means. */
uint32_t fold_means(const struct fold_sum *sums, uint32_t cells, double point_weight,
		    const double *variance, double ratio, double least, struct fold_mean *ret);

#endif
