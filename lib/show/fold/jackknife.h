/* SPDX-License-Identifier: MIT */
/*
 * How uncertain a curve is that was found by an iteration (increments.h), beside what its last fit
 * knows of itself: by the jackknife over groups of instances (Efron and Tibshirani 1993, chapter
 * 11), and by its bias.
 *
 * The bias is the difference between a curve and what is found again in the increments that this
 * curve implies (Efron and Tibshirani 1993, section 10.6, of which this is the bootstrap without
 * noise). It is taken away from the curve, and is in the band all the same: where there was much of
 * it, it is least known.
 */
#ifndef FOLD_JACKKNIFE_H
#define FOLD_JACKKNIFE_H

#include "fold/curve.h"

#define FOLD_JACKKNIFE	     20u
#define FOLD_JACKKNIFE_CELLS 1000u

/* Shares reached at the bounds of cells. */
struct fold_jackknife {
	double y[FOLD_JACKKNIFE][FOLD_JACKKNIFE_CELLS + 1]; /* without each of the groups */
	double bias[FOLD_JACKKNIFE_CELLS + 1];		    /* that was taken away */
	double part;					    /* of the increments that y are of */
};

/* Returns y at x, which is clamped to [0, 1], by linear interpolation. */
double fold_jackknife_at(const double *y, double x);

/* Widens the bands of a curve, which has some, and of its phases. */
void fold_jackknife_widen(const struct fold_jackknife *j, struct fold_curve *curve);

#endif
