/* SPDX-License-Identifier: MIT */
/* Makes a curve from points: sums them up in cells (cells.h), fits (fit.h), and computes bands
 * (bands.h). */
#include "fold_math/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "fold_math/bands.h"

static int complete_options(const struct fold_options *given, struct fold_options *o)
{
	*o = given ? *given : (struct fold_options){0};
	o->cells = o->cells ? o->cells : 1000;
	o->resamples = o->resamples ? o->resamples : 200;
	o->max_phases = o->max_phases ? o->max_phases : 32;
	if (o->cells < 50 || o->cells > FOLD_MAX_CELLS || o->resamples > 10000 ||
	    o->resamples < 2 || o->max_phases > FOLD_MAX_KNOTS - 2)
		return -EINVAL;
	return 0;
}

static int curve_new(uint32_t cells, struct fold_curve **ret)
{
	struct fold_curve *curve = calloc(1, sizeof(*curve));
	size_t n = (size_t)cells + 1;

	if (!curve)
		return -ENOMEM;
	curve->cells = cells;
	curve->y = calloc(6 * n, sizeof(*curve->y)); /* one array for all six */
	curve->phases = calloc(FOLD_MAX_KNOTS, sizeof(*curve->phases));
	if (!curve->y || !curve->phases) {
		fold_curve_free(curve);
		return -ENOMEM;
	}
	curve->y_low = curve->y + n;
	curve->y_high = curve->y + 2 * n;
	curve->rate = curve->y + 3 * n;
	curve->rate_low = curve->y + 4 * n;
	curve->rate_high = curve->y + 5 * n;
	for (size_t i = 0; i < n; i++)
		curve->y_low[i] = curve->y_high[i] = curve->rate_low[i] = curve->rate_high[i] = NAN;
	*ret = curve;
	return 0;
}

void fold_curve_free(struct fold_curve *curve)
{
	if (!curve)
		return;
	free(curve->y);
	free(curve->phases);
	free(curve);
}

static struct fold_estimate without_band(double value)
{
	return (struct fold_estimate){value, NAN, NAN};
}

static int set_values(struct fold_curve *curve, struct fold_fit *fit)
{
	struct fold_pieces line;
	double variance = 0;
	int err = fold_fit_apply(fit, fit->cells->all, false, curve->y, &line, NULL);

	if (err < 0)
		return err;
	for (uint32_t c = 0; c < curve->cells; c++) {
		curve->rate[c] = (curve->y[c + 1] - curve->y[c]) * curve->cells;
		variance += fit->variance[c] / curve->cells;
	}
	curve->noise = sqrt(variance);
	curve->n_phases = line.n - 1;
	for (uint32_t k = 0; k < curve->n_phases; k++) {
		struct fold_phase *phase = &curve->phases[k];
		double length = line.at[k + 1] - line.at[k];

		phase->from = without_band(line.at[k]);
		phase->to = without_band(line.at[k + 1]);
		phase->share = without_band(line.value[k + 1] - line.value[k]);
		phase->rate = without_band(phase->share.value / length);
	}
	curve->n_points = fit->cells->n_points;
	curve->n_instances = fit->cells->n_instances;
	return 0;
}

static int fit_cells(const struct fold_cells *cells, const struct fold_options *o,
		     struct fold_curve *curve)
{
	struct fold_fit fit;
	int err = fold_fit_choose(&fit, cells, o->max_phases);

	if (err == 0)
		err = set_values(curve, &fit);
	if (err == 0 && !o->no_bands && cells->groups >= FOLD_MIN_INSTANCES)
		err = fold_bands_make(curve, &fit, o->resamples, o->seed);
	fold_fit_free(&fit);
	return err;
}

int fold_curve_fit(const struct fold_point *points, size_t n, const struct fold_options *options,
		   struct fold_curve **ret)
{
	struct fold_options o;
	struct fold_cells *cells = NULL;
	struct fold_curve *curve = NULL;
	int err = complete_options(options, &o);

	if (err == 0)
		err = fold_cells_new(points, n, o.weights, o.n_weights, o.cells, o.seed, &cells);
	if (err == 0)
		err = curve_new(o.cells, &curve);
	if (err == 0)
		err = fit_cells(cells, &o, curve);
	fold_cells_free(cells);
	if (err < 0)
		fold_curve_free(curve);
	else
		*ret = curve;
	return err;
}

double fold_curve_at(const struct fold_curve *curve, double x)
{
	double at = (x < 0 ? 0 : x > 1 ? 1 : x) * curve->cells;
	uint32_t c = at < curve->cells ? (uint32_t)at : curve->cells - 1;

	return curve->y[c] + (at - c) * (curve->y[c + 1] - curve->y[c]);
}
