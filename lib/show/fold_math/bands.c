/* SPDX-License-Identifier: MIT */
/* Resamples groups in two ways, for the variance and for the bias; see bands.h. */
#include "fold_math/bands.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"

/* One in so many resamples is for the bias; chosen by hand. */
#define EACH_FLIPPED 4
#define NORMAL	     1.959964 /* the 97.5 % quantile of the normal distribution */

/* The sum of squared deviations from the estimate, over the resamples. */
struct spread {
	double squares;
};

struct bands {
	uint32_t room, drawn, flipped; /* resamples: room for, drawn, and flipped so far */
	struct spread *y, *rate;       /* cells + 1, cells */
	double *moved; /* cells + 1 elements: sum of y's deviations over the bias resamples */
	/* by group and cell: sum of the weighted distances of the group's y from the curve */
	double *left;
	struct spread from[FOLD_MAX_KNOTS]; /* by phase: spread of its begin */
	/* by phase and resample: distance of the knot nearest to the phase's begin from that
	 * begin */
	double *away;
	double ends_moved[FOLD_MAX_KNOTS]; /* by phase: as `moved`, of its begin */
	struct spread share[FOLD_MAX_KNOTS], rates[FOLD_MAX_KNOTS];
	struct fold_sum *sums;
	double *resampled;
};

static void add(struct spread *s, double value, double estimate)
{
	s->squares += (value - estimate) * (value - estimate);
}

static double slope_of(const struct fold_pieces *line, uint32_t k)
{
	return (line->value[k + 1] - line->value[k]) / (line->at[k + 1] - line->at[k]);
}

/* --- the variance -------------------------------------------------------------------------- */

/* Draws as many groups as there are, with replacement; times[g] is how often group g was drawn. */
static void draw(uint32_t groups, uint64_t *random, double *times)
{
	for (uint32_t g = 0; g < groups; g++)
		times[g] = 0;
	for (uint32_t g = 0; g < groups; g++)
		times[(hash_mix64(++*random) >> 32) * groups >> 32]++;
}

static int add_drawn(struct bands *b, struct fold_fit *fit, const struct fold_curve *curve,
		     uint64_t *random)
{
	double times[FOLD_GROUPS], found[FOLD_MAX_KNOTS];
	struct fold_pieces line;
	int err;

	draw(fit->cells->groups, random, times);
	fold_cells_combine(fit->cells, times, b->sums);
	err = fold_fit_apply(fit, b->sums, true, b->resampled, &line, found);
	if (err < 0)
		return err;
	for (uint32_t k = 1; k < curve->n_phases; k++)
		b->away[(size_t)k * b->room + b->drawn] =
			fabs(found[k] - curve->phases[k].from.value);
	b->drawn++;
	for (uint32_t c = 0; c <= curve->cells; c++)
		add(&b->y[c], b->resampled[c], curve->y[c]);
	for (uint32_t c = 0; c < curve->cells; c++)
		add(&b->rate[c], (b->resampled[c + 1] - b->resampled[c]) * curve->cells,
		    curve->rate[c]);
	for (uint32_t k = 0; k < curve->n_phases; k++) {
		const struct fold_phase *phase = &curve->phases[k];

		add(&b->from[k], line.at[k], phase->from.value);
		add(&b->share[k], line.value[k + 1] - line.value[k], phase->share.value);
		add(&b->rates[k], slope_of(&line, k), phase->rate.value);
	}
	return 0;
}

/* --- the bias ------------------------------------------------------------------------------ */

/* Returns the sum of weighted y that the points of a cell would have if they were on the curve. */
static double on_curve(const struct fold_curve *curve, const struct fold_sum *sum, uint32_t cell)
{
	double x = (cell + 0.5) / curve->cells;

	return sum->w > 0 ? sum->w * fold_curve_at(curve, x + sum->x / sum->w) : 0;
}

static void set_left(struct bands *b, const struct fold_cells *cells,
		     const struct fold_curve *curve)
{
	for (uint32_t g = 0; g < cells->groups; g++)
		for (uint32_t c = 0; c < cells->n; c++) {
			size_t i = (size_t)g * cells->n + c;

			b->left[i] = cells->of_group[i].y - on_curve(curve, &cells->of_group[i], c);
		}
}

static void flip(struct bands *b, const struct fold_cells *cells, const struct fold_curve *curve,
		 uint64_t *random)
{
	for (uint32_t c = 0; c < cells->n; c++) {
		b->sums[c] = cells->all[c];
		b->sums[c].y = on_curve(curve, &cells->all[c], c);
	}
	for (uint32_t g = 0; g < cells->groups; g++) {
		const double *left = &b->left[(size_t)g * cells->n];
		double sign = hash_mix64(++*random) & 1 ? 1 : -1;

		for (uint32_t c = 0; c < cells->n; c++)
			b->sums[c].y += sign * left[c];
	}
}

static int add_flipped(struct bands *b, struct fold_fit *fit, const struct fold_curve *curve,
		       uint64_t *random)
{
	struct fold_pieces line;
	int err;

	flip(b, fit->cells, curve, random);
	err = fold_fit_apply(fit, b->sums, true, b->resampled, &line, NULL);
	if (err < 0)
		return err;
	b->flipped++;
	for (uint32_t k = 1; k < curve->n_phases; k++)
		b->ends_moved[k] += line.at[k] - curve->phases[k].from.value;
	for (uint32_t c = 0; c <= curve->cells; c++)
		b->moved[c] += b->resampled[c] - curve->y[c];
	return 0;
}

/* --- bands --------------------------------------------------------------------------------- */

/* Returns the 97.5 % quantile of Student's distribution (Hill 1970's expansion in 1 / freedom). */
static double student(double freedom)
{
	const double z = NORMAL;
	double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

	return z + (z3 + z) / (4 * freedom) +
	       (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

struct limits {
	double times;	  /* half width of a band, in standard errors */
	uint32_t n;	  /* number of resamples */
	double low, high; /* least and largest possible value */
};

static void band(const struct spread *s, double bias, const struct limits *l, double value,
		 double *ret_low, double *ret_high)
{
	double reach = l->times * sqrt(s->squares / l->n + bias * bias);

	*ret_low = fmax(l->low, value - reach);
	*ret_high = fmin(l->high, value + reach);
}

static void estimate(struct fold_estimate *e, const struct spread *s, const struct limits *l)
{
	band(s, 0, l, e->value, &e->low, &e->high);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Estimates the end of a phase. Its interval is the union of two intervals: one from the spread of
 * the end over resamples in which the knots of all points only move, and one that has 19 of 20 of
 * the nearest knots in resamples that choose their own knots. Both include the bias. */
static void estimate_end(struct bands *b, uint32_t k, const struct limits *l,
			 struct fold_estimate *e)
{
	double *away = &b->away[(size_t)k * b->room], reach;
	const double bias = b->flipped ? b->ends_moved[k] / b->flipped : 0;
	uint32_t n = 0;

	band(&b->from[k], bias, l, e->value, &e->low, &e->high);
	for (uint32_t i = 0; i < b->drawn; i++)
		if (!isnan(away[i]))
			away[n++] = away[i];
	if (!n)
		return;
	qsort(away, n, sizeof(*away), compare);
	reach = l->times * hypot(away[n * 19 / 20] / NORMAL, bias);
	e->low = fmax(l->low, fmin(e->low, e->value - reach));
	e->high = fmin(l->high, fmax(e->high, e->value + reach));
}

static double bias_at(const struct bands *b, uint32_t cell)
{
	return b->flipped ? b->moved[cell] / b->flipped : 0;
}

static void set_bands(struct bands *b, struct fold_curve *curve, double times)
{
	const struct limits share = {times, b->drawn, 0, 1}, rate = {times, b->drawn, 0, INFINITY};

	for (uint32_t c = 0; c <= curve->cells; c++)
		band(&b->y[c], bias_at(b, c), &share, curve->y[c], &curve->y_low[c],
		     &curve->y_high[c]);
	for (uint32_t c = 0; c < curve->cells; c++)
		band(&b->rate[c], (bias_at(b, c + 1) - bias_at(b, c)) * curve->cells, &rate,
		     curve->rate[c], &curve->rate_low[c], &curve->rate_high[c]);
	for (uint32_t k = 0; k < curve->n_phases; k++) {
		struct fold_phase *phase = &curve->phases[k];

		if (k > 0)
			estimate_end(b, k, &share, &phase->from);
		else
			phase->from.low = phase->from.high = 0;
		if (k > 0)
			curve->phases[k - 1].to = phase->from;
		estimate(&phase->share, &b->share[k], &share);
		estimate(&phase->rate, &b->rates[k], &rate);
	}
	curve->phases[curve->n_phases - 1].to = (struct fold_estimate){1, 1, 1};
	curve->has_bands = true;
}

int fold_bands_make(struct fold_curve *curve, struct fold_fit *fit, uint32_t resamples,
		    uint64_t seed)
{
	uint32_t groups = fit->cells->groups;
	struct bands b = {.y = calloc(curve->cells + 1, sizeof(*b.y)),
			  .rate = calloc(curve->cells, sizeof(*b.rate)),
			  .moved = calloc(curve->cells + 1, sizeof(*b.moved)),
			  .left = calloc((size_t)groups * curve->cells, sizeof(*b.left)),
			  .away = calloc((size_t)FOLD_MAX_KNOTS * (resamples + 1), sizeof(*b.away)),
			  .room = resamples + 1,
			  .sums = calloc(curve->cells, sizeof(*b.sums)),
			  .resampled = calloc(curve->cells + 1, sizeof(*b.resampled))};
	uint64_t random = hash_mix64(seed ^ UINT64_C(0x666f6c64));
	int err =
		b.y && b.rate && b.moved && b.left && b.away && b.sums && b.resampled ? 0 : -ENOMEM;

	if (err == 0)
		set_left(&b, fit->cells, curve);
	for (uint32_t i = 0; err == 0 && i < resamples; i++)
		err = i % EACH_FLIPPED == EACH_FLIPPED - 1 ? add_flipped(&b, fit, curve, &random)
							   : add_drawn(&b, fit, curve, &random);
	if (err == 0)
		set_bands(&b, curve, student(groups - 1) * sqrt(groups / (groups - 1.0)));
	free(b.y);
	free(b.rate);
	free(b.moved);
	free(b.left);
	free(b.away);
	free(b.sums);
	free(b.resampled);
	return err;
}
