/* SPDX-License-Identifier: MIT */
/* A phase is a stretch of a folded region in which a counter's rate is constant or changes
 * smoothly. */
#ifndef FOLD_MATH_PHASES_H
#define FOLD_MATH_PHASES_H

/* An estimate with its 95 % band. The bounds are NAN where no band could be made
 * (fold_curve.has_bands). */
struct fold_estimate {
	double value, low, high;
};

/* One phase. The phases of a curve follow each other: each begins where the one before ends, the
 * first at 0, the last ends at 1, and their shares add up to 1. Within a phase the rate is constant
 * or changes smoothly. A jump of the counter is a phase of nearly no length and a very large
 * rate. */
struct fold_phase {
	/* in normalised time; the bands of 0 and of 1 have no width */
	struct fold_estimate from, to;
	struct fold_estimate share; /* share of the counter's total */
	/* relative to the counter's mean rate over the region, which is 1 */
	struct fold_estimate rate;
};

#endif
