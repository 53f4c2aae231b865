/* SPDX-License-Identifier: MIT */
/*
 * The estimator of the curve and of its phases, for sums of cells: those of all groups, or those of
 * a resample.
 *
 * The curve is made of polynomial pieces, as many as the noise allows to see (pieces.h), plus what
 * is left beside them, smoothed, made rising. The pieces keep the breaks sharp, which a smoother
 * alone would round; the smoother finds what is too little to be worth a piece. How far it smooths
 * is found by cross-validation over the groups, and then narrowed a little, so that the bias is
 * small against the band, which does not include it.
 *
 * The phases are fewer of these pieces: differences of less than FOLD_PHASE_DETAIL of the total
 * make no phase. They end where the pieces do.
 *
 * How far to smooth, and which phases there are, is chosen once, from all points
 * (fold_fit_choose()). Which pieces the curve has, where they lie, and all values are found anew
 * for each resample (fold_fit_apply()), so the bands include the uncertainty of that choice. With
 * the knots of all points in each resample, they were too narrow by 10 to 30 % beside breaks that
 * are rounded.
 *
 * Isotonic regression alone was tried first: its error falls with n^(-1/3) only, and its slope is
 * zero nearly everywhere. So was a broken line, with bends for exponentials: it had breaks inside
 * of these, and none where they end.
 */
#ifndef FOLD_FIT_H
#define FOLD_FIT_H

#include <stdbool.h>

#include "fold/cells.h"
#include "fold/pieces.h"
#include "fold/smooth.h"

/* Of the total: of the bench's sixteen known curves, all phases are found at this, and one lacks
 * one at 1e-3 (a tenth of the pass, a fiftieth of the total, before an exponential). */
#define FOLD_PHASE_DETAIL 5e-4
/* What one instance alone may differ by without making a phase, as a share of its course: the
 * machine stalls a pass now and then. Chosen, not derived: of 56 passes beside other work, phases
 * were ten in the place of three without it, and are eight; of 64 and of 105, three. */
#define FOLD_ONE_INSTANCE .1

struct fold_fit {
	const struct fold_cells *cells;
	double *variance; /* of a point of mean weight, by cell */
	double ratio;	  /* by which it is raised where breaks are looked for */
	double bandwidth;
	struct fold_pieces pieces, phases;
	uint32_t knot_of[FOLD_MAX_KNOTS]; /* the pieces' knot that a phase begins at; 0: none */
	struct fold_mean *means, *merged; /* room for cells, and for fewer */
	uint32_t n_means;
	struct smoother *smoother;
};

/* Chooses the pieces and the bandwidth for cells, which must outlive it. The caller frees with
 * fold_fit_free(), also after an error. Returns 0 or -ENOMEM. */
int fold_fit_choose(struct fold_fit *fit, const struct fold_cells *cells, uint32_t max_phases);

/* Frees what a fit holds; one of zeros is allowed. */
void fold_fit_free(struct fold_fit *fit);

/* Ties the end of each phase to the nearest knot of the pieces, and moves it there. An end stays
 * where it is if that knot is another end's already, or is not between the ends beside it. */
void fold_fit_tie(struct fold_fit *fit);

/* Fits to `sums`, choosing the curve's pieces anew if `anew`: sets cells + 1 values of `y`, and
 * *phases, whose values do not fall. If `found` is not NULL, sets found[k], from k = 1 on, to the
 * inner knot of the curve that is nearest to the beginning of phase k in the fit to all points
 * (NAN: the curve has no inner knot). Returns 0 or -ENOMEM. */
int fold_fit_apply(struct fold_fit *fit, const struct fold_sum *sums, bool anew, double *y,
		   struct fold_pieces *phases, double *found);

#endif
