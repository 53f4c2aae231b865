/* SPDX-License-Identifier: MIT */
/* The choice of knots and bandwidth, and the fit with them. */
#include "fold/fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "fold/noise.h"

#define FINEST	   5e-5 /* differences of y below this are no matter of the curve either */
#define NARROWING  0.7	/* of the bandwidth that is best for the curve, for the sake of the bands */
#define FOLDS	   5
#define PENALTY	   4.0 /* times log n: two parameters a knot, doubled */
#define BEND	   3.0 /* the penalty of a bend, which need not be told from chance */
#define STEPS	   4   /* in which knots move to a resample */
#define BESIDE	   .01 /* of the knots of a line, for bends */
#define MERGED	   4   /* means that are one where the line of a resample is sought */
#define KINK_REACH .02 /* how far a phase's end may be from the kink that it is */

/* A variance that every cell has, so that a difference of `detail` over many cells stays. */
static double least_variance(const struct fold_fit *fit, double detail)
{
	return detail * detail * fit->cells->n / 1000;
}

static uint32_t means_of(struct fold_fit *fit, const struct fold_sum *sums, double ratio,
			 double detail)
{
	return fold_means(sums, fit->cells->n, fit->cells->point_weight, fit->variance, ratio,
			  least_variance(fit, detail), fit->means);
}

static void subtract(const struct fold_spline *spline, struct fold_mean *means, uint32_t n)
{
	struct spline_walk walk = {0};

	for (uint32_t i = 0; i < n; i++)
		means[i].y -= fold_spline_at(spline, means[i].x, &walk);
}

static double log_count(const struct fold_fit *fit)
{
	return log(fmax(10, fmin(fit->cells->n, fit->cells->n_instances)));
}

static int find_line(struct fold_fit *fit, double detail, uint32_t max_knots,
		     struct broken_line *ret)
{
	uint32_t n = means_of(fit, fit->cells->all, fit->ratio, detail);

	return fold_breaks_find(fit->means, n, PENALTY * log_count(fit), max_knots, ret);
}

/* Finds the line: first with a guess of the noise, then with its estimate beside that line. */
static int find_candidates(struct fold_fit *fit)
{
	int err;

	fold_noise_guess(fit->cells, fit->variance);
	fit->ratio = 1;
	err = find_line(fit, FOLD_PHASE_DETAIL / 4, FOLD_MAX_KNOTS, &fit->line);
	if (err == 0)
		err = fold_noise_between(fit->cells, &fit->line, fit->variance, &fit->ratio);
	if (err == 0)
		err = find_line(fit, FINEST, FOLD_MAX_KNOTS, &fit->line);
	if (err == 0)
		err = fold_noise_between(fit->cells, &fit->line, fit->variance, &fit->ratio);
	return err;
}

static void choose_splines(struct fold_fit *fit)
{
	double penalty = PENALTY * log_count(fit);
	const struct fold_spline_choice breaks = {.kink = penalty, .bend = 2 * BEND, .steps = 30};
	uint32_t n = means_of(fit, fit->cells->all, fit->ratio, FINEST);

	fit->choice = (struct fold_spline_choice){
		.kink = penalty, .bend = BEND, .beside = BESIDE, .is_smooth = true, .steps = 20};
	fold_spline_choose(fit->solver, &fit->line, fit->means, n, &fit->choice, &fit->spline);
	fold_spline_choose(fit->solver, &fit->line, fit->means, n, &breaks, &fit->kinks);
}

/* --- phases -------------------------------------------------------------------------------- */

/* Moves the ends of phases to the kinks that they belong to. */
static void follow_kinks(const struct fold_fit *fit, const struct fold_spline *spline,
			 struct broken_line *phases)
{
	for (uint32_t k = 1; k + 1 < phases->n; k++)
		if (fit->kink_of[k])
			phases->at[k] = spline->knots[fit->kink_of[k]].at;
}

/* Ties each kink to the nearest end of a phase, if that is nearer to no other kink. */
static void tie_kinks(struct fold_fit *fit)
{
	struct broken_line *p = &fit->phases;

	for (uint32_t s = 1; s < fit->kinks.n; s++) {
		double at = fit->kinks.knots[s].at, least = KINK_REACH;
		uint32_t nearest = 0;

		if (!fit->kinks.knots[s].has_kink)
			continue;
		for (uint32_t k = 1; k + 1 < p->n; k++)
			if (fabs(p->at[k] - at) < least && p->at[k + 1] > at && p->at[k - 1] < at) {
				least = fabs(p->at[k] - at);
				nearest = k;
			}
		if (nearest &&
		    (!fit->kink_of[nearest] ||
		     fabs(fit->kinks.knots[fit->kink_of[nearest]].at - p->at[nearest]) > least))
			fit->kink_of[nearest] = s;
	}
	follow_kinks(fit, &fit->kinks, p);
}

static int find_phases(struct fold_fit *fit, uint32_t max_phases)
{
	int err = find_line(fit, FOLD_PHASE_DETAIL, max_phases + 1, &fit->phases);

	if (err == 0)
		tie_kinks(fit);
	return err;
}

/* --- the bandwidth ------------------------------------------------------------------------- */

/* How far the means of the groups of one fold lie from what the other groups say, smoothed. */
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
	subtract(&fit->spline, fit->means, n);
	smoother_add(fit->smoother, fit->means, n, bandwidth, y, cells->n);
	for (uint32_t g = 0; g < cells->groups; g++)
		times[g] = g % FOLDS == fold;
	fold_cells_combine(cells, times, sums);
	n = means_of(fit, sums, 1, FINEST);
	subtract(&fit->spline, fit->means, n);
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
		err = spline_solver_new(&fit->solver);
	if (err == 0)
		err = find_candidates(fit);
	if (err == 0)
		choose_splines(fit);
	if (err == 0)
		err = find_phases(fit, max_phases);
	if (err == 0)
		err = find_bandwidth(fit);
	return err;
}

void fold_fit_free(struct fold_fit *fit)
{
	free(fit->variance);
	free(fit->means);
	free(fit->merged);
	smoother_free(fit->smoother);
	free(fit->solver);
}

/* --- the fit ------------------------------------------------------------------------------- */

/* Chooses knots and terms for the first n means, as find_candidates() and choose_splines() did for
 * those of all points. Where so many means are one, the line takes a sixteenth of the time. */
static int choose_anew(struct fold_fit *fit, uint32_t n, struct fold_spline *ret)
{
	struct broken_line line;
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
	err = fold_breaks_find(fit->merged, merged, PENALTY * log_count(fit), FOLD_MAX_KNOTS,
			       &line);
	if (err == 0)
		fold_spline_choose(fit->solver, &line, fit->means, n, &fit->choice, ret);
	return err;
}

int fold_fit_apply(struct fold_fit *fit, const struct fold_sum *sums, bool anew, double *y,
		   struct broken_line *phases)
{
	uint32_t cells = fit->cells->n, n;
	struct fold_spline spline = fit->spline, kinks = fit->kinks;
	struct spline_walk walk = {0};
	int err;

	n = means_of(fit, sums, fit->ratio, FINEST);
	err = anew ? choose_anew(fit, n, &spline) : 0;
	if (err < 0)
		return err;
	fold_spline_refine(fit->solver, &kinks, fit->means, n, STEPS);
	n = means_of(fit, sums, 1, FINEST);
	if (!anew)
		fold_spline_refine(fit->solver, &spline, fit->means, n, STEPS);
	for (uint32_t c = 0; c <= cells; c++)
		y[c] = fold_spline_at(&spline, (double)c / cells, &walk);
	subtract(&spline, fit->means, n);
	smoother_add(fit->smoother, fit->means, n, fit->bandwidth, y, cells);
	fold_make_rising(y, cells);
	*phases = fit->phases;
	follow_kinks(fit, &kinks, phases);
	n = means_of(fit, sums, fit->ratio, FOLD_PHASE_DETAIL);
	broken_line_solve_rising(phases, fit->means, n);
	return 0;
}
