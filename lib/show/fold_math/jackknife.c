/* SPDX-License-Identifier: MIT */
/* Computes standard errors of rises, and widens bands by them; see jackknife.h. */
#include "fold_math/jackknife.h"

#include <math.h>

#define CELLS FOLD_JACKKNIFE_CELLS
/* The standard error of a rate is that of the rise over so many cells to each side; chosen by
 * hand. */
#define REACH 10u

double fold_jackknife_at(const double *y, double x)
{
	double a = fmin(1, fmax(0, x)) * CELLS;
	uint32_t c = a < CELLS ? (uint32_t)a : CELLS - 1;

	return y[c] + (a - c) * (y[c + 1] - y[c]);
}

/* Returns the standard error of the curve's rise from `from` to `to`, from the spread over the
 * groups and from the bias that was subtracted. */
static double error_of_rise(const struct fold_jackknife *j, double from, double to)
{
	double sum = 0, squares = 0,
	       bias = fold_jackknife_at(j->bias, to) - fold_jackknife_at(j->bias, from);

	for (uint32_t g = 0; g < FOLD_JACKKNIFE; g++) {
		double v = fold_jackknife_at(j->y[g], to) - fold_jackknife_at(j->y[g], from);

		sum += v / FOLD_JACKKNIFE;
		squares += v * v / FOLD_JACKKNIFE;
	}
	return sqrt(fmax(0, squares - sum * sum) * (FOLD_JACKKNIFE - 1) * j->part + bias * bias);
}

/* Widens a band by a standard error that is independent of the band's own. */
static void widen(double value, double error, double most, double *low, double *high)
{
	const double t = 2.093; /* quantile of Student's distribution with 19 degrees of freedom */
	double less = value - *low, more = *high - value;

	*low = fmax(0, value - sqrt(less * less + t * error * t * error));
	*high = fmin(most, value + sqrt(more * more + t * error * t * error));
}

void fold_jackknife_widen(const struct fold_jackknife *j, struct fold_curve *curve)
{
	const double n = curve->cells;

	for (uint32_t c = 1; c < curve->cells; c++)
		widen(curve->y[c], error_of_rise(j, 0, c / n), 1, &curve->y_low[c],
		      &curve->y_high[c]);
	for (uint32_t c = 0; c < curve->cells; c++) {
		double from = fmax(0, (c + .5 - REACH) / n), to = fmin(1, (c + .5 + REACH) / n);

		widen(curve->rate[c], error_of_rise(j, from, to) / (to - from), INFINITY,
		      &curve->rate_low[c], &curve->rate_high[c]);
	}
	for (uint32_t k = 0; k < curve->n_phases; k++) {
		struct fold_phase *p = &curve->phases[k];
		double error = error_of_rise(j, p->from.value, p->to.value);

		widen(p->share.value, error, 1, &p->share.low, &p->share.high);
		widen(p->rate.value, error / (p->to.value - p->from.value), INFINITY, &p->rate.low,
		      &p->rate.high);
	}
}
