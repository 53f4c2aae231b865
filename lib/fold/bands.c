/* SPDX-License-Identifier: MIT */
/* The bootstrap of groups. */
#include "fold/bands.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"

/* The sum of squared deviations from the estimate, over the resamples. */
struct spread {
	double squares;
};

struct bands {
	struct spread *y, *rate;	    /* cells + 1, cells */
	struct spread from[FOLD_MAX_KNOTS]; /* by phase, as the next two */
	struct spread share[FOLD_MAX_KNOTS], rates[FOLD_MAX_KNOTS];
	struct fold_sum *sums;
	double *resampled;
};

static void add(struct spread *s, double value, double estimate)
{
	s->squares += (value - estimate) * (value - estimate);
}

static double slope_of(const struct broken_line *line, uint32_t k)
{
	return (line->value[k + 1] - line->value[k]) / (line->at[k + 1] - line->at[k]);
}

static void add_resample(struct bands *b, struct fold_fit *fit, const double *times,
			 const struct fold_curve *curve)
{
	struct broken_line line;

	fold_cells_combine(fit->cells, times, b->sums);
	fold_fit_apply(fit, b->sums, true, b->resampled, &line);
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
}

/* As many groups as there are, drawn with replacement. */
static void draw(uint32_t groups, uint64_t *random, double *times)
{
	for (uint32_t g = 0; g < groups; g++)
		times[g] = 0;
	for (uint32_t g = 0; g < groups; g++)
		times[(hash_mix64(++*random) >> 32) * groups >> 32]++;
}

/* The 97.5 % quantile of Student's distribution (Hill 1970's expansion in 1 / freedom). */
static double student(double freedom)
{
	const double z = 1.959964;
	double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

	return z + (z3 + z) / (4 * freedom) +
	       (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

struct limits {
	double times;	  /* standard errors */
	uint32_t n;	  /* resamples */
	double low, high; /* values that are possible */
};

static void band(const struct spread *s, const struct limits *l, double value, double *ret_low,
		 double *ret_high)
{
	double reach = l->times * sqrt(s->squares / l->n);

	*ret_low = fmax(l->low, value - reach);
	*ret_high = fmin(l->high, value + reach);
}

static void estimate(struct fold_estimate *e, const struct spread *s, const struct limits *l)
{
	band(s, l, e->value, &e->low, &e->high);
}

static void set_bands(const struct bands *b, struct fold_curve *curve, double times, uint32_t n)
{
	const struct limits share = {times, n, 0, 1}, rate = {times, n, 0, INFINITY};

	for (uint32_t c = 0; c <= curve->cells; c++)
		band(&b->y[c], &share, curve->y[c], &curve->y_low[c], &curve->y_high[c]);
	for (uint32_t c = 0; c < curve->cells; c++)
		band(&b->rate[c], &rate, curve->rate[c], &curve->rate_low[c], &curve->rate_high[c]);
	for (uint32_t k = 0; k < curve->n_phases; k++) {
		struct fold_phase *phase = &curve->phases[k];

		estimate(&phase->from, &b->from[k], &share);
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
			  .sums = calloc(curve->cells, sizeof(*b.sums)),
			  .resampled = calloc(curve->cells + 1, sizeof(*b.resampled))};
	uint64_t random = hash_mix64(seed ^ UINT64_C(0x666f6c64));
	double times[FOLD_GROUPS];
	int err = b.y && b.rate && b.sums && b.resampled ? 0 : -ENOMEM;

	for (uint32_t i = 0; err == 0 && i < resamples; i++) {
		draw(groups, &random, times);
		add_resample(&b, fit, times, curve);
	}
	if (err == 0)
		set_bands(&b, curve, student(groups - 1) * sqrt(groups / (groups - 1.0)),
			  resamples);
	free(b.y);
	free(b.rate);
	free(b.sums);
	free(b.resampled);
	return err;
}
