/* SPDX-License-Identifier: MIT */
/*
 * Adds to the bands of a curve that an iteration found (increments.h) the uncertainty that its last
 * fit does not include: the jackknife's over groups of instances (Efron and Tibshirani 1993,
 * chapter 11), and the bias.
 *
 * The bias is the difference between a curve and the curve that the iteration finds from the
 * increments that it implies (Efron and Tibshirani 1993, section 10.6; this is their bootstrap
 * without noise). It is subtracted from the curve, and still widens the band, because the larger a
 * bias, the less exactly it is known. The number of groups was chosen by hand.
 */
#ifndef FOLD_MATH_JACKKNIFE_H
#define FOLD_MATH_JACKKNIFE_H

#include "fold_math/curve.h"

#define FOLD_JACKKNIFE	     20u
#define FOLD_JACKKNIFE_CELLS 1000u

/* Values of the curve, as shares of the total, at the bounds of cells. */
struct fold_jackknife {
	/* the curves found without each of the groups */
	double y[FOLD_JACKKNIFE][FOLD_JACKKNIFE_CELLS + 1];
	double bias[FOLD_JACKKNIFE_CELLS + 1]; /* the bias that was subtracted from the curve */
	double part;			       /* share of the increments that y[] was made from */
};

/* Returns y at x, which is clamped to [0, 1], by linear interpolation. */
double fold_jackknife_at(const double *y, double x);

/* Widens the bands of a curve, which must have some, and of its phases. */
void fold_jackknife_widen(const struct fold_jackknife *j, struct fold_curve *curve);

#endif
