/* SPDX-License-Identifier: MIT */
/*
 * Computes the bands of a curve and of its phases, by fitting both to resamples of the groups of
 * instances (cells.h).
 *
 * A band reaches from the estimate to both sides by the square root of (variance + bias squared),
 * times Student's quantile for the number of groups. It is cut off at impossible values (below 0,
 * above 1).
 *
 * For the variance, groups are drawn with replacement, and the pieces of the curve are chosen anew
 * for each resample, since an estimate after a choice varies with the choice (Efron 2014,
 * "Estimation and accuracy after model selection"). Such resamples cannot show the bias, because
 * what they estimate are the data themselves, which are not smooth. So one resample in four (chosen
 * by hand) is for the bias. It is a wild bootstrap by groups (Liu 1988; Cameron, Gelbach and Miller
 * 2008, section III): points on the fitted curve, plus the distance of each group from it, with a
 * random sign for the group. These resamples estimate the fitted curve, so the mean error of their
 * fits is the bias, which the bands of shares and of rates include.
 *
 * The end of a phase depends on the choice of the pieces as well: between two exponentials whose
 * rates differ by little, a resample may have no knot (end of a piece) near the end that the fit to
 * all points has. If knots are chosen from all points and only moved in resamples, the intervals of
 * ends are too narrow: 19 of 36 contained the break (bench/fold_breaks). So an interval also
 * includes the nearest knots of the newly chosen pieces.
 *
 * Percentiles were rejected: those of 200 resamples rest on five resamples at each end, and would
 * need ten times as many resamples to be as steady.
 */
#ifndef FOLD_MATH_BANDS_H
#define FOLD_MATH_BANDS_H

#include "fold_math/curve.h"
#include "fold_math/fit.h"

/* Makes the bands of a curve, whose values and phases were made from `fit`, with `resamples`
 * resamples and random numbers from `seed`. Returns 0 or -ENOMEM. */
int fold_bands_make(struct fold_curve *curve, struct fold_fit *fit, uint32_t resamples,
		    uint64_t seed);

#endif
