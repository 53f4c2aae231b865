/* SPDX-License-Identifier: MIT */
/*
 * Bands: the curve and the phases fitted to resamples of the groups of instances (cells.h).
 *
 * A band is the estimate and its standard error among the resamples, times Student's quantile for
 * the number of groups, cut off where no value can be. Percentiles of 200 resamples rest on five of
 * them at each end, and would need ten times as many resamples to be as steady.
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
