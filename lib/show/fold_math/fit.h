/* SPDX-License-Identifier: MIT */
/*
 * Estimates the curve and its phases from sums of cells: those of all groups, or those of a
 * resample.
 *
 * The curve is made of pieces (pieces.h), as many as can be told from noise, plus the smoothed
 * residuals, and is then made rising. The pieces keep breaks sharp, which smoothing alone would
 * round; the smoothed residuals add differences that are too small for a piece. Its bandwidth is
 * found by cross-validation over the groups, and then narrowed a little, so that the smoother's
 * bias is small against the band.
 *
 * The phases are a coarser choice of these pieces: differences of less than FOLD_PHASE_DETAIL of
 * the total make no phase. Phases end where pieces end.
 *
 * The bandwidth and the number of phases are chosen once, from all points (fold_fit_choose()). The
 * pieces of the curve, their places and all values are found anew for each resample
 * (fold_fit_apply()), so the bands include the uncertainty of that choice. If resamples keep the
 * pieces of all points, bands beside rounded breaks are too narrow by 10 to 30 %.
 *
 * Rejected: isotonic regression alone, whose error falls with n^(-1/3) only, and whose slope is
 * zero nearly everywhere; and a broken line with bends for exponentials, which had breaks inside of
 * exponentials and none at their ends.
 */
#ifndef FOLD_MATH_FIT_H
#define FOLD_MATH_FIT_H

#include <stdbool.h>

#include "fold_math/cells.h"
#include "fold_math/pieces.h"
#include "fold_math/smooth.h"

/* A share of the counter's total. Chosen with the sixteen known curves of the bench (bench/fold_fit
 * accuracy): at this value all of their phases are found; at 1e-3 one phase is missed (a tenth of
 * the pass, a fiftieth of the total, before an exponential). */
#define FOLD_PHASE_DETAIL 5e-4
/* If a single instance differs from the others by less than this share of its course, that makes no
 * phase, because the machine stalls a pass now and then. Chosen by hand with recordings of a
 * program of three phases beside other work: 56 passes had ten phases without this limit and have
 * eight with it; 64 and 105 passes have three. */
#define FOLD_ONE_INSTANCE .1

struct fold_fit {
	const struct fold_cells *cells;
	double *variance; /* by cell: variance of a point of mean weight */
	/* factor by which variances are raised in the search for breaks (fold_noise_between()) */
	double ratio;
	double bandwidth;
	struct fold_pieces pieces, phases;
	/* by phase: index of the pieces' knot at which the phase begins; 0: none */
	uint32_t knot_of[FOLD_MAX_KNOTS];
	struct fold_mean *means, *merged; /* room for a mean of each cell, and for merged means */
	uint32_t n_means;
	struct smoother *smoother;
};

/* Chooses the pieces and the bandwidth for cells, which must outlive the fit. `max_phases` limits
 * the phases. The caller frees the fit with fold_fit_free(), also after an error. Returns 0 or
 * -ENOMEM. */
int fold_fit_choose(struct fold_fit *fit, const struct fold_cells *cells, uint32_t max_phases);

/* Frees what a fit holds; a zeroed fit is allowed. */
void fold_fit_free(struct fold_fit *fit);

/* Ties the end of each phase to the nearest knot of the pieces, and moves the end to that knot. An
 * end stays where it is if the knot is tied to another end, or is not between the ends beside
 * it. */
void fold_fit_tie(struct fold_fit *fit);

/* Fits to `sums`; with `anew`, chooses the curve's pieces again. Sets the cells + 1 values of `y`,
 * and *phases, whose values do not fall. If `found` is not NULL, found[k], from k = 1 on, is the
 * inner knot of the curve that is nearest to the begin of phase k in the fit to all points (NAN:
 * the curve has no inner knot). Returns 0 or -ENOMEM. */
int fold_fit_apply(struct fold_fit *fit, const struct fold_sum *sums, bool anew, double *y,
		   struct fold_pieces *phases, double *found);

#endif
