/* SPDX-License-Identifier: MIT */
/* Computes exponentials, waves, and the part of a polynomial that it adds to a straight line; see
 * forms.h. The limits and the grid of turns below were chosen by hand; bench/fold_fit families
 * shows how many breaks are found and how many false ends (docs/FOLD.md). */
#include "fold_math/forms.h"

#include <math.h>

#define MAX_BEND   40.0
#define LEAST_TURN 2.0 /* radians, a third of a wave: a cubic fits shorter waves as well */
#define MOST_TURN  40.0

/* Returns the sum of the bubbles at t (bubble k is t (1 - t) P_k(2t - 1), P_k Legendre's
 * polynomial), each times its factor in `parameters`. *slope is the derivative by t, by[k] the one
 * by factor k. */
static double bubbles_at(const double *parameters, uint32_t n, double t, double *slope, double *by)
{
	double u = 2 * t - 1, q = t * (1 - t), dq = 1 - 2 * t, value = 0;
	/* P_k and P_(k-1) and their derivatives by u */
	double p = 1, before = 0, dp = 0, dbefore = 0;

	*slope = 0;
	for (uint32_t k = 0; k < n; k++) {
		double next = ((2 * k + 1) * u * p - k * before) / (k + 1);
		double dnext = ((2 * k + 1) * (p + u * dp) - k * dbefore) / (k + 1);

		by[k] = q * p;
		value += parameters[k] * by[k];
		*slope += parameters[k] * (dq * p + 2 * q * dp);
		before = p;
		dbefore = dp;
		p = next;
		dp = dnext;
	}
	return value;
}

/* Returns how far an exponential from 0 to `range`, range * expm1(bend t) / expm1(bend), is from
 * the straight line at t; sets its derivatives by t (*slope), by range and by bend. */
static double exponential_at(double bend, double range, double t, double *slope, double *by_range,
			     double *by)
{
	double whole = expm1(bend), part = expm1(bend * t), g = part / whole;

	if (fabs(bend) < 1e-4) {
		*by_range = bend * t * (t - 1) / 2;
		*slope = range * bend * (t - .5);
		by[0] = range * t * (t - 1) / 2;
	} else {
		*by_range = g - t;
		*slope = range * (bend * (part + 1) / whole - 1);
		by[0] = range * (t * (part + 1) - g * (whole + 1)) / whole;
	}
	return range * *by_range;
}

static double wave_at(const double *parameters, double t, double *slope, double *by)
{
	const double a = parameters[0], b = parameters[1], turn = parameters[2];
	double s1, c1, s, c;

	sincos(turn, &s1, &c1);
	sincos(turn * t, &s, &c);

	by[0] = s - t * s1;
	by[1] = c - 1 - t * (c1 - 1);
	by[2] = t * (a * (c - c1) - b * (s - s1));
	*slope = a * (turn * c - s1) - b * (turn * s + c1 - 1);
	return a * by[0] + b * by[1];
}

double form_at(const struct fold_pieces *p, uint32_t k, double t, double *slope, double *by_range,
	       double *by)
{
	const double *parameters = p->bubble[k];
	const double range = p->value[k + 1] - p->value[k];

	*by_range = 0;
	if (p->form[k] == PIECE_POLYNOMIAL)
		return bubbles_at(parameters, p->degree[k] - 1, t, slope, by);
	if (p->form[k] == PIECE_EXPONENTIAL)
		return exponential_at(parameters[0], range, t, slope, by_range, by);
	return wave_at(parameters, t, slope, by);
}

bool form_is_possible(const struct fold_pieces *p, uint32_t k)
{
	if (p->form[k] == PIECE_EXPONENTIAL)
		return fabs(p->bubble[k][0]) < MAX_BEND;
	if (p->form[k] == PIECE_WAVE)
		return p->bubble[k][2] > LEAST_TURN && p->bubble[k][2] < MOST_TURN;
	return true;
}

/* --- where to begin --------------------------------------------------------------------------- */

#define POINTS	  64u /* number of merged means in which a wave is searched */
#define COLUMNS	  4u  /* the columns 1, t, sine and cosine */
#define FIRST	  3.0
#define LAST	  21.0
#define TURN_STEP 1.0

static uint32_t merge(const struct fold_mean *means, uint32_t from, uint32_t to,
		      struct fold_mean *ret)
{
	uint32_t each = (to - from + POINTS - 1) / POINTS, n = 0;

	for (uint32_t i = from; i < to; i += each, n++) {
		struct fold_mean sum = {0};

		for (uint32_t k = i; k < i + each && k < to; k++) {
			sum.w += means[k].w;
			sum.x += means[k].w * means[k].x;
			sum.y += means[k].w * means[k].y;
		}
		ret[n] = (struct fold_mean){sum.x / sum.w, sum.y / sum.w, sum.w};
	}
	return n;
}

/* Returns the weighted sum of squares of y that a fit by the columns leaves. Makes the columns
 * orthogonal (Gram and Schmidt). */
static double left_by(double columns[COLUMNS][POINTS], const struct fold_mean *points, uint32_t n)
{
	double left = 0;

	for (uint32_t i = 0; i < n; i++)
		left += points[i].w * points[i].y * points[i].y;
	for (uint32_t c = 0; c < COLUMNS; c++) {
		double self = 0, with = 0;

		for (uint32_t b = 0; b < c; b++) {
			double norm = 0, product = 0;

			for (uint32_t i = 0; i < n; i++) {
				norm += points[i].w * columns[b][i] * columns[b][i];
				product += points[i].w * columns[b][i] * columns[c][i];
			}
			for (uint32_t i = 0; i < n && norm > 0; i++)
				columns[c][i] -= product / norm * columns[b][i];
		}
		for (uint32_t i = 0; i < n; i++) {
			self += points[i].w * columns[c][i] * columns[c][i];
			with += points[i].w * columns[c][i] * points[i].y;
		}
		left -= self > 0 ? with * with / self : 0;
	}
	return left;
}

double form_find_turn(const struct fold_mean *means, uint32_t from, uint32_t to)
{
	struct fold_mean points[POINTS];
	double columns[COLUMNS][POINTS], least = INFINITY, best = FIRST;
	uint32_t n = to > from ? merge(means, from, to, points) : 0;
	double begin = n ? points[0].x : 0, length = n ? points[n - 1].x - begin : 1;

	for (double turn = FIRST; n > COLUMNS && turn <= LAST; turn += TURN_STEP) {
		double left;

		for (uint32_t i = 0; i < n; i++) {
			double t = (points[i].x - begin) / length;

			columns[0][i] = 1;
			columns[1][i] = t;
			sincos(turn * t, &columns[2][i], &columns[3][i]);
		}
		left = left_by(columns, points, n);
		if (left < least) {
			least = left;
			best = turn;
		}
	}
	return best;
}
