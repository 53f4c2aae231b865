/* SPDX-License-Identifier: MIT */
/*
 * Bands: the curve and the phases fitted to resamples of the groups of instances (cells.h).
 *
 * A band is the estimate and the root mean square of how far the resamples lie from it, times
 * Student's quantile for the number of groups, cut off where no value can be. That has the bias of
 * the fit beside its scatter: what fitting rounds once more in a resample, it had rounded before.
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
