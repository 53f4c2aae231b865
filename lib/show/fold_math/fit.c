/* SPDX-License-Identifier: MIT */
/*
 * Chooses pieces and bandwidth, and fits with them; see fit.h. The constants below were chosen by
 * hand with the first ten curves of tests/unit/fold_truth.h (bench/fold_fit accuracy); the other
 * curves and bench/fold_fit families judge them.
 */
#include "fold_math/fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "fold_math/noise.h"

#define FINEST	  5e-5 /* Differences of y below this are ignored, also by the curve. */
#define NARROWING 0.7  /* factor on the best bandwidth: a smaller one has less bias */
#define FOLDS	  5    /* folds of the cross-validation */
#define STEPS	  4    /* steps in which the knots move to fit a resample */
#define MERGED	  4    /* means merged into one when a resample's pieces are chosen */

/* Returns a variance such that, if it is added to each cell's variance, differences of less than
 * `detail` over many cells become insignificant. */
static double least_variance(const struct fold_fit *fit, double detail)
{
	return detail * detail * fit->cells->n / 1000;
}

/* Returns the least difference that makes a phase. */
static double phase_detail(const struct fold_fit *fit)
{
	return hypot(FOLD_PHASE_DETAIL, FOLD_ONE_INSTANCE / fit->cells->n_instances);
}

static uint32_t means_of(struct fold_fit *fit, const struct fold_sum *sums, double ratio,
			 double detail)
{
	return fold_means(sums, fit->cells->n, fit->cells->point_weight, fit->variance, ratio,
			  least_variance(fit, detail), fit->means);
}

static void subtract(const struct fold_pieces *pieces, struct fold_mean *means, uint32_t n)
{
	uint32_t knot = 0;

	for (uint32_t i = 0; i < n; i++)
		means[i].y -= fold_pieces_at(pieces, means[i].x, &knot);
}

static double log_count(const struct fold_fit *fit)
{
	return log(fmax(10, fmin(fit->cells->n, fit->cells->n_instances)));
}

static int find_pieces(struct fold_fit *fit, double detail, uint32_t max_knots,
		       struct fold_pieces *ret)
{
	uint32_t n = fit->n_means = means_of(fit, fit->cells->all, fit->ratio, detail);

	return fold_pieces_find(fit->means, n, log_count(fit), max_knots, ret);
}

/* Chooses the curve's pieces twice: first with a guess of the noise, then with the noise estimated
 * from the distances to these pieces. */
static int choose_pieces(struct fold_fit *fit)
{
	int err;

	fold_noise_guess(fit->cells, fit->variance);
	fit->ratio = 1;
	err = find_pieces(fit, FOLD_PHASE_DETAIL / 4, FOLD_MAX_KNOTS, &fit->pieces);
	if (err == 0)
		err = fold_noise_between(fit->cells, &fit->pieces, fit->variance, &fit->ratio);
	if (err == 0)
		err = find_pieces(fit, FINEST, FOLD_MAX_KNOTS, &fit->pieces);
	if (err == 0)
		fold_pieces_explore(&fit->pieces, fit->means, fit->n_means, log_count(fit),
				    FOLD_MAX_KNOTS);
	if (err == 0)
		err = fold_noise_between(fit->cells, &fit->pieces, fit->variance, &fit->ratio);
	return err;
}

/* --- phases -------------------------------------------------------------------------------- */

/* Moves the end of a phase to `to`, if it stays between the ends beside it. Returns whether it
 * moved. */
static bool move_end(struct fold_pieces *phases, uint32_t k, double to)
{
	if (!(to > phases->at[k - 1] && to < phases->at[k + 1]))
		return false;
	phases->at[k] = to;
	return true;
}

/* Moves the ends of phases to the knots to which they are tied. An end cannot pass the next end, so
 * a second round, from the last end to the first, moves the ends that the next one kept from moving
 * in the first round. */
static void follow_knots(const struct fold_fit *fit, const struct fold_pieces *pieces,
			 struct fold_pieces *phases)
{
	for (uint32_t k = 1; k + 1 < phases->n; k++)
		if (fit->knot_of[k])
			move_end(phases, k, pieces->at[fit->knot_of[k]]);
	for (uint32_t k = phases->n - 1; k-- > 1;)
		if (fit->knot_of[k])
			move_end(phases, k, pieces->at[fit->knot_of[k]]);
}

/* Returns the inner knot nearest to `at`; 0: there is none. */
static uint32_t nearest_knot(const struct fold_pieces *pieces, double at)
{
	double least = INFINITY;
	uint32_t nearest = 0;

	for (uint32_t s = 1; s + 1 < pieces->n; s++) {
		double distance = fabs(pieces->at[s] - at);

		if (distance < least) {
			least = distance;
			nearest = s;
		}
	}
	return nearest;
}

void fold_fit_tie(struct fold_fit *fit)
{
	struct fold_pieces *p = &fit->phases;
	uint32_t last = 0;

	for (uint32_t k = 1; k + 1 < p->n; k++) {
		uint32_t nearest = nearest_knot(&fit->pieces, p->at[k]);

		fit->knot_of[k] = 0;
		if (nearest > last && move_end(p, k, fit->pieces.at[nearest]))
			fit->knot_of[k] = last = nearest;
	}
}

/* Finds the phases: the pieces that remain if differences below phase_detail() are ignored. */
static void find_phases(struct fold_fit *fit, uint32_t max_phases)
{
	uint32_t n = means_of(fit, fit->cells->all, fit->ratio, phase_detail(fit));

	fit->phases = fit->pieces;
	fold_pieces_prune(&fit->phases, fit->means, n, log_count(fit), max_phases + 1);
	fold_fit_tie(fit);
}

/* Fits the values at the phases' ends, which must not fall. */
static void fit_phases(struct fold_pieces *phases, const struct fold_mean *means, uint32_t n)
{
	fold_pieces_refine(phases, means, n, 0);
	for (uint32_t k = 1; k < phases->n; k++)
		phases->value[k] = fmin(1, fmax(phases->value[k - 1], phases->value[k]));
}

/* --- the bandwidth ------------------------------------------------------------------------- */

/* Returns the error of one fold of the cross-validation: the squared distance of the means of the
 * fold's groups from the smoothed fit to all other groups. */
static double error_of_fold(struct fold_fit *fit, uint32_t fold, double bandwidth,
			    struct fold_sum *sums, double *y)
{
	const struct fold_cells *cells = fit->cells;
	double times[FOLD_GROUPS], error = 0;
	uint32_t n;

	for (uint32_t g = 0; g < cells->groups; g++)
		times[g] = g % FOLDS != fold;
	fold_cells_combine(cells, times, sums);
	n = means_of(fit, sums, 1, FINEST);
	for (uint32_t c = 0; c <= cells->n; c++)
		y[c] = 0;
	subtract(&fit->pieces, fit->means, n);
	smoother_add(fit->smoother, fit->means, n, bandwidth, y, cells->n);
	for (uint32_t g = 0; g < cells->groups; g++)
		times[g] = g % FOLDS == fold;
	fold_cells_combine(cells, times, sums);
	n = means_of(fit, sums, 1, FINEST);
	subtract(&fit->pieces, fit->means, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct fold_mean *m = &fit->means[i];
		double at = m->x * cells->n;
		uint32_t c = at < cells->n ? (uint32_t)at : cells->n - 1;
		double left = m->y - y[c] - (at - c) * (y[c + 1] - y[c]);

		error += m->w * left * left;
	}
	return error;
}

static int find_bandwidth(struct fold_fit *fit)
{
	const struct fold_cells *cells = fit->cells;
	struct fold_sum *sums = calloc(cells->n, sizeof(*sums));
	double *y = calloc(cells->n + 1, sizeof(*y)), least = INFINITY;
	double narrowest = fmax(15.0 / (double)cells->n_points, 4.0 / cells->n);

	for (double h = 0.2; sums && y && h >= narrowest; h *= 0.7) {
		double error = 0;

		for (uint32_t fold = 0; fold < FOLDS; fold++)
			error += error_of_fold(fit, fold, h, sums, y);
		if (error < least) {
			least = error;
			fit->bandwidth = h * NARROWING;
		}
	}
	if (least == INFINITY)
		fit->bandwidth = 0.2;
	free(sums);
	free(y);
	return sums && y ? 0 : -ENOMEM;
}

int fold_fit_choose(struct fold_fit *fit, const struct fold_cells *cells, uint32_t max_phases)
{
	int err = -ENOMEM;

	*fit = (struct fold_fit){.cells = cells};
	fit->variance = calloc(cells->n, sizeof(*fit->variance));
	fit->means = calloc(cells->n, sizeof(*fit->means));
	fit->merged = calloc(cells->n / MERGED + 1, sizeof(*fit->merged));
	if (fit->variance && fit->means && fit->merged)
		err = smoother_new(cells->n, &fit->smoother);
	if (err == 0)
		err = choose_pieces(fit);
	if (err == 0) {
		find_phases(fit, max_phases);
		err = find_bandwidth(fit);
	}
	return err;
}

void fold_fit_free(struct fold_fit *fit)
{
	free(fit->variance);
	free(fit->means);
	free(fit->merged);
	smoother_free(fit->smoother);
}

/* --- the fit ------------------------------------------------------------------------------- */

/* Chooses pieces for the first n means, as choose_pieces() did for all points. Merges each MERGED
 * means into one, and so takes a sixteenth of the time. Returns 0 or -ENOMEM. */
static int choose_anew(struct fold_fit *fit, uint32_t n, struct fold_pieces *ret)
{
	uint32_t merged = 0;
	int err;

	for (uint32_t i = 0; i < n; i += MERGED) {
		struct fold_mean sum = {0};

		for (uint32_t k = i; k < i + MERGED && k < n; k++) {
			sum.w += fit->means[k].w;
			sum.x += fit->means[k].w * fit->means[k].x;
			sum.y += fit->means[k].w * fit->means[k].y;
		}
		fit->merged[merged++] = (struct fold_mean){sum.x / sum.w, sum.y / sum.w, sum.w};
	}
	err = fold_pieces_find(fit->merged, merged, log_count(fit), FOLD_MAX_KNOTS, ret);
	if (err == 0)
		fold_pieces_refine(ret, fit->means, n, STEPS);
	return err;
}

int fold_fit_apply(struct fold_fit *fit, const struct fold_sum *sums, bool anew, double *y,
		   struct fold_pieces *phases, double *found)
{
	uint32_t cells = fit->cells->n, n, knot = 0;
	struct fold_pieces pieces = fit->pieces, fixed = fit->pieces;
	int err;

	n = means_of(fit, sums, fit->ratio, FINEST);
	err = anew ? choose_anew(fit, n, &pieces) : 0;
	if (err < 0)
		return err;
	n = means_of(fit, sums, 1, FINEST);
	fold_pieces_refine(&fixed, fit->means, n, STEPS);
	if (!anew)
		pieces = fixed;
	for (uint32_t k = 1; found && k + 1 < fit->phases.n; k++) {
		uint32_t nearest = nearest_knot(&pieces, fit->phases.at[k]);

		found[k] = nearest ? pieces.at[nearest] : NAN;
	}
	for (uint32_t c = 0; c <= cells; c++)
		y[c] = fold_pieces_at(&pieces, (double)c / cells, &knot);
	subtract(&pieces, fit->means, n);
	smoother_add(fit->smoother, fit->means, n, fit->bandwidth, y, cells);
	fold_make_rising(y, cells);
	*phases = fit->phases;
	follow_knots(fit, &fixed, phases);
	n = means_of(fit, sums, fit->ratio, phase_detail(fit));
	fit_phases(phases, fit->means, n);
	return 0;
}
