/* SPDX-License-Identifier: MIT */
/*
 * Counters that advance along known curves, sampled in instances that differ: for the tests and the
 * bench of lib/show/fold_math. The estimator's constants were chosen with the first FOLD_TUNED
 * curves in view; those after them were added when it was done.
 */
#ifndef TESTS_UNIT_FOLD_TRUTH_H
#define TESTS_UNIT_FOLD_TRUTH_H

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fold_math/curve.h"
#include "fold_courses.h"

#define TRUTH_PHASES 8

/* A phase of a curve: its part of the time and of the counter; linear, or exponential with rates
 * whose ratio from its beginning to its end is exp(bend), or a number of waves of the rate, which
 * is 1 + depth at its ends, where the mean is 1; or, for `waves` below 0, that enum truth_course,
 * with `depth` for its parameter. */
struct truth_phase {
	double length, share, bend;
	double waves, depth;
};

struct truth {
	const char *name;
	uint32_t n;
	struct truth_phase phases[TRUTH_PHASES];
};

/* How instances differ: relative standard deviations of the duration, of the length and of the
 * share of each phase by itself; the standard deviation of readings; the share of instances that
 * are outliers, five times as long, whose phases differ by TRUTH_WILD times as much; and of those
 * of another mode, twice as long, whose phases come in the opposite order. */
struct truth_noise {
	const char *name;
	double duration, length, share, reading;
	double outliers, others;
};

#define TRUTH_WILD 5

#define FOLD_TUNED 10

static const struct truth truths[] = {
	{"three linear", 3, {{.3, .1, 0, 0, 0}, {.5, .8, 0, 0, 0}, {.2, .1, 0, 0, 0}}},
	{"growth, linear", 2, {{.6, .5, 3, 0, 0}, {.4, .5, 0, 0, 0}}},
	{"steps",
	 5,
	 {{.2, .5, 0, 0, 0},
	  {.2, 0, 0, 0, 0},
	  {.2, .3, 0, 0, 0},
	  {.3, 0, 0, 0, 0},
	  {.1, .2, 0, 0, 0}}},
	{"one linear", 1, {{1, 1, 0, 0, 0}}},
	{"five linear",
	 5,
	 {{.05, .2, 0, 0, 0},
	  {.25, .1, 0, 0, 0},
	  {.35, .5, 0, 0, 0},
	  {.15, .02, 0, 0, 0},
	  {.2, .18, 0, 0, 0}}},
	{"linear, decay, linear",
	 3,
	 {{.25, .15, 0, 0, 0}, {.45, .7, -3, 0, 0}, {.3, .15, 0, 0, 0}}},
	{"staircase",
	 6,
	 {{.15, 0, 0, 0, 0},
	  {.1, .3, 0, 0, 0},
	  {.25, 0, 0, 0, 0},
	  {.1, .4, 0, 0, 0},
	  {.3, 0, 0, 0, 0},
	  {.1, .3, 0, 0, 0}}},
	{"growth and decay", 2, {{.5, .5, 2, 0, 0}, {.5, .5, -2, 0, 0}}},
	{"short burst", 3, {{.62, .3, 0, 0, 0}, {.05, .4, 0, 0, 0}, {.33, .3, 0, 0, 0}}},
	{"mixed",
	 5,
	 {{.1, .02, 0, 0, 0},
	  {.3, .4, 2.5, 0, 0},
	  {.2, .05, 0, 0, 0},
	  {.05, .13, 0, 0, 0},
	  {.35, .4, -1.5, 0, 0}}},
	{"ramp down",
	 4,
	 {{.2, .45, 0, 0, 0}, {.2, .3, 0, 0, 0}, {.35, .2, 0, 0, 0}, {.25, .05, 0, 0, 0}}},
	{"pause, growth, pause", 3, {{.12, 0, 0, 0, 0}, {.6, 1, 2.2, 0, 0}, {.28, 0, 0, 0, 0}}},
	{"decay, steps",
	 5,
	 {{.4, .45, -2, 0, 0},
	  {.07, 0, 0, 0, 0},
	  {.18, .3, 0, 0, 0},
	  {.25, .05, 0, 0, 0},
	  {.1, .2, 0, 0, 0}}},
	{"six linear",
	 6,
	 {{.12, .2, 0, 0, 0},
	  {.2, .1, 0, 0, 0},
	  {.06, .12, 0, 0, 0},
	  {.3, .33, 0, 0, 0},
	  {.1, .02, 0, 0, 0},
	  {.22, .23, 0, 0, 0}}},
	{"two steps",
	 4,
	 {{.33, .02, 0, 0, 0}, {.08, .5, 0, 0, 0}, {.41, .03, 0, 0, 0}, {.18, .45, 0, 0, 0}}},
	{"growth, decay, linear",
	 3,
	 {{.35, .3, 1.8, 0, 0}, {.4, .55, -2.4, 0, 0}, {.25, .15, 0, 0, 0}}},
};

#define N_TRUTHS (sizeof(truths) / sizeof(truths[0]))

static const struct truth_noise truth_noises[] = {
	{"durations", .10, 0, 0, .0005, 0, 0},	    {"phases 1 %", .10, .01, .01, .0005, 0, 0},
	{"phases 3 %", .10, .03, .03, .001, 0, 0},  {"outliers", .10, .01, .01, .0005, .03, 0},
	{"two modes", .10, .01, .01, .0005, 0, .3},
};

#define N_TRUTH_NOISES (sizeof(truth_noises) / sizeof(truth_noises[0]))

/* --- one instance --------------------------------------------------------------------------- */

struct truth_instance {
	const struct truth *truth;
	double duration;
	double at[TRUTH_PHASES + 1], y[TRUTH_PHASES + 1]; /* where phases begin; the last is 1, 1 */
	bool is_other; /* its phases come in the opposite order */
};

static inline const struct truth_phase *truth_phase(const struct truth_instance *in, uint32_t i)
{
	return &in->truth->phases[in->is_other ? in->truth->n - 1 - i : i];
}

static inline double truth_uniform(uint64_t *random)
{
	return (double)(hash_mix64(*random += UINT64_C(0x9e3779b97f4a7c15)) >> 11) * 0x1p-53;
}

static inline double truth_normal(uint64_t *random)
{
	double u = 1 - truth_uniform(random);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * truth_uniform(random));
}

/* A factor with mean 1. */
static inline double truth_factor(double deviation, uint64_t *random)
{
	return deviation > 0 ? exp(deviation * truth_normal(random) - deviation * deviation / 2)
			     : 1;
}

/* NULL for `noise` makes the curve itself. */
static inline struct truth_instance truth_draw(const struct truth *truth,
					       const struct truth_noise *noise, uint64_t *random)
{
	static const struct truth_noise none = {0};
	struct truth_instance in = {.truth = truth};
	double length, share;
	uint32_t n = truth->n;
	bool is_outlier;

	noise = noise ? noise : &none;
	is_outlier = noise->outliers > 0 && truth_uniform(random) < noise->outliers;
	in.is_other = noise->others > 0 && truth_uniform(random) < noise->others;
	length = (is_outlier ? TRUTH_WILD : 1) * noise->length;
	share = (is_outlier ? TRUTH_WILD : 1) * noise->share;
	for (uint32_t i = 0; i < n; i++) {
		const struct truth_phase *p = truth_phase(&in, i);

		in.at[i + 1] = in.at[i] + p->length * truth_factor(length, random);
		in.y[i + 1] = in.y[i] + p->share * truth_factor(share, random);
	}
	in.duration = in.at[n] * truth_factor(noise->duration, random);
	in.duration *= (is_outlier ? 5 : 1) * (in.is_other ? 2 : 1);
	for (uint32_t i = 0; i < n; i++) {
		in.at[i] /= in.at[n];
		in.y[i] /= in.y[n];
	}
	in.at[n] = in.y[n] = 1;
	return in;
}

static inline double truth_at(const struct truth_instance *in, double x)
{
	uint32_t i = 0;
	double t, bend;

	while (i + 1 < in->truth->n && x >= in->at[i + 1])
		i++;
	t = (x - in->at[i]) / (in->at[i + 1] - in->at[i]);
	bend = truth_phase(in, i)->bend;
	if (truth_phase(in, i)->waves < 0)
		t = truth_course((enum truth_course)truth_phase(in, i)->waves, t,
				 truth_phase(in, i)->depth);
	else if (bend != 0)
		t = expm1(bend * t) / expm1(bend);
	else if (truth_phase(in, i)->waves > 0)
		t += truth_phase(in, i)->depth * sin(2 * M_PI * truth_phase(in, i)->waves * t) /
		     (2 * M_PI * truth_phase(in, i)->waves);
	return in->y[i] + t * (in->y[i + 1] - in->y[i]);
}

/* --- samples, and what they are samples of --------------------------------------------------- */

/* `n` samples of instances that follow each other, about `each` of them in one. NULL for lack of
 * memory. The caller frees. */
static inline struct fold_point *truth_sample(const struct truth *truth,
					      const struct truth_noise *noise, double each,
					      size_t n, uint64_t seed)
{
	struct fold_point *points = calloc(n, sizeof(*points));
	uint64_t random = hash_mix64(seed + 1);
	double next = truth_uniform(&random) / each; /* from the beginning of the instance */
	size_t i = 0;

	for (uint32_t instance = 0; points && i < n; instance++) {
		struct truth_instance in = truth_draw(truth, noise, &random);

		for (; next < in.duration && i < n; i++) {
			double x = next / in.duration;
			double y = truth_at(&in, x);

			y += noise->reading * truth_normal(&random) * 2 * sqrt(y * (1 - y));
			points[i] = (struct fold_point){x, fmin(1, fmax(0, y)), instance};
			next += (0.5 + truth_uniform(&random)) / each;
		}
		next -= in.duration;
	}
	return points;
}

/* The mean curve of instances, weighted by durations, as of `draws` of them: cells + 1 values. */
static inline double *truth_mean(const struct truth *truth, const struct truth_noise *noise,
				 uint32_t cells, uint32_t draws)
{
	double *mean = calloc(cells + 1, sizeof(*mean)), sum = 0;
	uint64_t random = 4711;

	for (uint32_t i = 0; mean && i < draws; i++) {
		struct truth_instance in = truth_draw(truth, noise, &random);

		sum += in.duration;
		for (uint32_t c = 0; c <= cells; c++)
			mean[c] += in.duration * truth_at(&in, (double)c / cells);
	}
	for (uint32_t c = 0; mean && c <= cells; c++)
		mean[c] /= sum;
	return mean;
}

/* --- judgement ------------------------------------------------------------------------------- */

struct truth_judgement {
	double mean_error, max_error;	  /* of y against the mean curve */
	double nominal_mean, nominal_max; /* of y against the curve that instances vary about */
	double break_error; /* the largest distance of a true break from the nearest found */
	double rate_error;  /* the largest relative one of linear phases; of one at rate 0, absolute
			     */
	double in_y, in_rate;	   /* shares of the grid where the bands have the mean curve */
	double in_break, in_phase; /* shares of true breaks, and of rates of linear phases */
	uint32_t n_breaks, n_linear;
};

/* The rate at an end of a phase. */
static inline double truth_rate(const struct truth_phase *p, bool is_end)
{
	double rate = p->share / p->length;
	const double h = 1e-6;

	if (p->waves < 0) {
		enum truth_course course = (enum truth_course)p->waves;

		return rate / h *
		       (is_end ? 1 - truth_course(course, 1 - h, p->depth)
			       : truth_course(course, h, p->depth));
	}
	if (p->bend != 0)
		return rate * p->bend * (is_end ? exp(p->bend) : 1) / expm1(p->bend);
	return rate * (1 + p->depth);
}

/* Whether the rate differs by a tenth of the average or more where phase i begins. */
static inline bool truth_is_break(const struct truth *truth, uint32_t i)
{
	return fabs(truth_rate(&truth->phases[i - 1], true) -
		    truth_rate(&truth->phases[i], false)) >= 0.1;
}

/* The found phase that has most of a true one in it. */
static inline const struct fold_phase *truth_found(const struct fold_curve *curve, double from,
						   double to)
{
	const struct fold_phase *best = NULL;
	double most = 0;

	for (uint32_t i = 0; i < curve->n_phases; i++) {
		const struct fold_phase *p = &curve->phases[i];
		double common = fmin(p->to.value, to) - fmax(p->from.value, from);

		if (common > most) {
			most = common;
			best = p;
		}
	}
	return best;
}

static inline void judge_phases(const struct fold_curve *curve, const struct truth *truth,
				struct truth_judgement *j)
{
	struct truth_instance nominal = truth_draw(truth, NULL, NULL);

	for (uint32_t i = 0; i < truth->n; i++) {
		double from = nominal.at[i], to = nominal.at[i + 1];
		double rate = truth->phases[i].share / truth->phases[i].length, nearest = 1;
		const struct fold_phase *p = truth_found(curve, from, to), *at = NULL;

		for (uint32_t k = 1; k < curve->n_phases; k++)
			if (fabs(curve->phases[k].from.value - from) < nearest) {
				at = &curve->phases[k];
				nearest = fabs(at->from.value - from);
			}
		if (i > 0 && truth_is_break(truth, i)) {
			j->break_error = fmax(j->break_error, nearest);
			j->in_break += at && at->from.low <= from && at->from.high >= from;
			j->n_breaks++;
		}
		if (truth->phases[i].bend == 0 && truth->phases[i].waves == 0) {
			j->rate_error = fmax(j->rate_error,
					     fabs(p->rate.value - rate) / (rate > 0 ? rate : 1));
			j->in_phase += p->rate.low <= rate && p->rate.high >= rate;
			j->n_linear++;
		}
	}
}

/* Compares a curve with the truth and with truth_mean() of as many cells. */
static inline struct truth_judgement truth_judge(const struct fold_curve *curve,
						 const struct truth *truth, const double *mean)
{
	struct truth_judgement j = {0};
	struct truth_instance nominal = truth_draw(truth, NULL, NULL);
	uint32_t n = curve->cells;

	for (uint32_t c = 1; c < n; c++) {
		double e = fabs(curve->y[c] - mean[c]);
		double o = fabs(curve->y[c] - truth_at(&nominal, (double)c / n));

		j.mean_error += e / (n - 1);
		j.max_error = fmax(j.max_error, e);
		j.nominal_mean += o / (n - 1);
		j.nominal_max = fmax(j.nominal_max, o);
		j.in_y += (curve->y_low[c] <= mean[c] && curve->y_high[c] >= mean[c]) / (n - 1.0);
	}
	for (uint32_t c = 0; c < n; c++) {
		double rate = (mean[c + 1] - mean[c]) * n;

		j.in_rate +=
			(curve->rate_low[c] <= rate && curve->rate_high[c] >= rate) / (double)n;
	}
	judge_phases(curve, truth, &j);
	return j;
}

#endif
