/* SPDX-License-Identifier: MIT */
/*
 * Bands: the curve and the phases fitted to resamples of the groups of instances (cells.h).
 *
 * A band is the estimate and, to both sides, the root of its variance and its squared bias, times
 * Student's quantile for the number of groups, cut off where no value can be.
 *
 * For the variance, groups are drawn with replacement, and the pieces of the curve are chosen
 * anew for each resample: an estimate after a choice varies with it (Efron 2014, "Estimation
 * and accuracy after model selection"). In what is drawn, the data themselves are the truth, and
 * they are not smooth; so no bias shows there. For that, one resample in four is the wild bootstrap
 * by groups (Liu 1988; Cameron, Gelbach and Miller 2008, section III): points on the fitted curve,
 * plus how far each group lies from it, with a random sign for the group. There the truth is known,
 * and the mean of what the fits miss is their bias. It is in the bands of shares and of rates.
 *
 * Where a phase ends depends on the choice of the pieces as well: between two exponentials whose
 * rates differ by little, a resample may have no knot near the end that all points have. With the
 * knots of all points, which only move, intervals of ends were too narrow there: 19 of 36 had the
 * break (bench/fold_breaks). So the nearest knots of the pieces that are chosen anew count, too.
 *
 * Percentiles of 200 resamples rest on five of them at each end, and would need ten times as many
 * resamples to be as steady.
 */
#ifndef FOLD_BANDS_H
#define FOLD_BANDS_H

#include "fold/curve.h"
#include "fold/fit.h"

/* Makes the bands of a curve, whose values and phases were made from `fit`. Returns 0 or
 * -ENOMEM. */
int fold_bands_make(struct fold_curve *curve, struct fold_fit *fit, uint32_t resamples,
		    uint64_t seed);

#endif
