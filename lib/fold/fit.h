/* SPDX-License-Identifier: MIT */
/*
 * The estimator of the curve and of its phases, for sums of cells: those of all groups, or those of
 * a resample.
 *
 * The curve is a broken line with as many knots as the noise allows to see, plus what is left
 * beside it, smoothed, made rising. The line keeps the breaks sharp, which a smoother alone would
 * round; the smoother finds what curves too little to be worth a knot, and makes up for knots of
 * the line where the curve has none. How far it smooths is found by cross-validation over the
 * groups, and then narrowed a little, so that the bias is small against the band, which does not
 * include it.
 *
 * The phases are a second, coarser line: differences of less than FOLD_PHASE_DETAIL of the total
 * make no phase, or an exponential that is known exactly would be one of thirty.
 *
 * How far to smooth, and which phases there are, is chosen once, from all points
 * (fold_fit_choose()). Which knots the curve has, where they lie, and all values are found anew for
 * each resample (fold_fit_apply()), so the bands include the uncertainty of that choice. With the
 * knots of all points in each resample, they were too narrow by 10 to 30 % beside breaks that are
 * rounded.
 *
 * Isotonic regression alone was tried first: its error falls with n^(-1/3) only, and its slope is
 * zero nearly everywhere.
 */
#ifndef FOLD_FIT_H
#define FOLD_FIT_H

#include "fold/breaks.h"
#include "fold/cells.h"
#include "fold/smooth.h"
#include "fold/spline.h"

#define FOLD_PHASE_DETAIL 1e-3

struct fold_fit {
	const struct fold_cells *cells;
	double *variance; /* of a point of mean weight, by cell */
	double ratio;	  /* by which it is raised where breaks are looked for */
	double bandwidth;
	struct broken_line line; /* whose knots may be the spline's */
	struct fold_spline_choice choice;
	struct fold_spline spline, kinks; /* of the curve; for the places of breaks */
	struct broken_line phases;
	uint32_t kink_of[FOLD_MAX_KNOTS]; /* the knot that a phase begins at; 0: none */
	struct fold_mean *means, *merged; /* room for cells, and for fewer */
	struct smoother *smoother;
	struct spline_solver *solver;
};

/* Chooses the knots and the bandwidth for cells, which must outlive it. The caller frees with
 * fold_fit_free(), also after an error. Returns 0 or -ENOMEM. */
int fold_fit_choose(struct fold_fit *fit, const struct fold_cells *cells, uint32_t max_phases);

/* Frees what a fit holds; one of zeros is allowed. */
void fold_fit_free(struct fold_fit *fit);

/* Fits to `sums`, choosing the curve's knots and terms anew if `anew`: sets cells + 1 values of
 * `y`, and *phases. Returns 0 or -ENOMEM. */
int fold_fit_apply(struct fold_fit *fit, const struct fold_sum *sums, bool anew, double *y,
		   struct broken_line *phases);

#endif
