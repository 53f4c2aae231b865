/* SPDX-License-Identifier: MIT */
/*
 * Folded curves: accuracy and bands on curves that are known (fold_truth.h; bench/fold_fit.c
 * measures the same over 200 seeds), weights, and odd input; and the test of uniformity.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fold_math/fit.h"
#include "fold_math/uniform.h"
#include "fold_families.h"
#include "fold_truth.h"
#include "length.h"

#define CELLS 1000

/* Where what is judged does not depend on how wide the bands are. */
#define FEW_RESAMPLES 20

/* Under the sanitizers, the curves that other cases fit run the same code (length.h). */
#define ONLY_PLAIN()                                                                               \
	do {                                                                                       \
		if (!by_build(0, 1))                                                               \
			skip();                                                                    \
	} while (0)

static struct fold_curve *fit(const struct fold_point *points, size_t n,
			      const struct fold_options *options)
{
	struct fold_curve *curve = NULL;

	assert_int_equal(fold_curve_fit(points, n, options, &curve), 0);
	return curve;
}

static struct fold_curve *fit_truth(const struct truth *truth, const struct truth_noise *noise,
				    double each, size_t n, uint64_t seed, bool no_bands)
{
	struct fold_options options = {.seed = seed, .no_bands = no_bands};
	struct fold_point *points = truth_sample(truth, noise, each, n, seed);
	struct fold_curve *curve;

	assert_non_null(points);
	curve = fit(points, n, &options);
	free(points);
	return curve;
}

static void check_form(const struct fold_curve *curve)
{
	double share = 0, last = 0;

	assert_true(curve->y[0] == 0 && curve->y[curve->cells] == 1);
	for (uint32_t c = 0; c < curve->cells; c++) {
		assert_true(curve->y[c + 1] >= curve->y[c]);
		assert_true(curve->rate[c] >= 0);
	}
	for (uint32_t i = 0; i < curve->n_phases; i++) {
		const struct fold_phase *p = &curve->phases[i];

		assert_true(p->from.value == last && p->to.value > last && p->rate.value >= 0);
		last = p->to.value;
		share += p->share.value;
	}
	assert_true(last == 1 && fabs(share - 1) < 1e-9);
}

/* The limits are those of the project, for instances that differ in their durations. */
static void curves_are_accurate(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_TRUTHS; i += by_build(5, 1)) {
		for (uint64_t seed = 1000; seed < 1000 + by_length(1, 2); seed++) {
			double *mean = truth_mean(&truths[i], &truth_noises[0], CELLS, 1);
			struct fold_curve *curve =
				fit_truth(&truths[i], &truth_noises[0], 1, 2000, seed, true);
			struct truth_judgement j = truth_judge(curve, &truths[i], mean);

			check_form(curve);
			assert_true(j.nominal_mean <= .003 && j.nominal_max <= .01);
			assert_true(j.break_error <= .005);
			assert_true(j.rate_error <= .05);
			fold_curve_free(curve);
			free(mean);
		}
	}
}

/* Linear phases around an exponential have their ends where they are, nothing between, and no dip
 * or peak at an end: the bench has more of the kind. */
static void exponentials_are_one_phase(void **state)
{
	static const struct truth_noise noise = {"", .05, .003, .003, .0005, 0, 0};
	static const double bends[] = {3, -3, 1.5, -2};

	(void)state;
	for (uint32_t i = 0; i < by_build(1, sizeof(bends) / sizeof(bends[0])); i++) {
		const struct truth truth = {
			"",
			3,
			{{.22, .33, 0, 0, 0}, {.41, .3, bends[i], 0, 0}, {.37, .37, 0, 0, 0}}};
		double *mean = truth_mean(&truth, &noise, CELLS, 3000);
		struct fold_curve *curve = fit_truth(&truth, &noise, 2, 2000, 77 + i, true);
		struct truth_judgement j = truth_judge(curve, &truth, mean);

		assert_int_equal(curve->n_phases, 3);
		assert_true(j.break_error < .005 && j.mean_error < .003 && j.max_error < .01);
		for (uint32_t c = 0; c < CELLS; c++) {
			double x = (c + .5) / CELLS, rate = (mean[c + 1] - mean[c]) * CELLS;

			/* The places where breaks are rounded are left out. */
			if (fabs(x - .22) > .01 && fabs(x - .63) > .01)
				assert_true(fabs(curve->rate[c] - rate) < .1 * rate + .05);
		}
		fold_curve_free(curve);
		free(mean);
	}
}

/* Breaks between exponentials are found where their rates differ by half, and have narrow
 * intervals; one where the rate falls from 0.19 to 0.08 of the average is 7 % off, and its interval
 * says that it may be. */
static void doubtful_ends_have_wide_intervals(void **state)
{
	static const struct {
		uint32_t seed, n, narrow;
	} judged[] = {{1, 5, 4}, {3, 4, 2}};

	(void)state;
	ONLY_PLAIN();
	for (size_t j = 0; j < sizeof(judged) / sizeof(judged[0]); j++) {
		const struct family_case c = family_make(FAMILY_EXPONENTIAL, judged[j].seed);
		const struct truth_instance nominal = truth_draw(&c.truth, NULL, NULL);
		struct fold_curve *curve =
			fit_truth(&c.truth, &c.noise, c.each, c.n, judged[j].seed, false);
		uint32_t narrow = 0;

		assert_int_equal(c.truth.n, judged[j].n);
		assert_int_equal(curve->n_phases, judged[j].n);
		for (uint32_t i = 1; i < c.truth.n; i++) {
			const struct fold_estimate *end = &curve->phases[i].from;

			assert_true(end->low <= nominal.at[i] && end->high >= nominal.at[i]);
			narrow += end->high - end->low < .01 &&
				  fabs(end->value - nominal.at[i]) < .005;
		}
		assert_int_equal(narrow, judged[j].narrow);
		fold_curve_free(curve);
	}
}

/* Waves are one phase each, also where the rate hardly changes between two of them (curve 4: from
 * 0.55 to 0.45). Polynomials took five phases for these. */
static void waves_are_one_phase(void **state)
{
	static const uint32_t seeds[] = {0, 4};

	(void)state;
	for (size_t s = 0; s < by_build(1, sizeof(seeds) / sizeof(seeds[0])); s++) {
		const struct family_case c = family_make(FAMILY_WAVES, seeds[s]);
		const struct truth_instance nominal = truth_draw(&c.truth, NULL, NULL);
		struct fold_curve *curve =
			fit_truth(&c.truth, &c.noise, c.each, c.n, seeds[s], true);

		assert_int_equal(c.truth.n, s == 0 ? 1 : 2);
		assert_int_equal(curve->n_phases, c.truth.n);
		for (uint32_t i = 1; i < c.truth.n; i++)
			assert_true(fabs(curve->phases[i].from.value - nominal.at[i]) < .005);
		fold_curve_free(curve);
	}
}

static void straight_curves_have_one_phase(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < by_build(1, by_length(2, 5)); seed++) {
		struct fold_curve *curve =
			fit_truth(&truths[3], &truth_noises[2], 1, 5000, seed, true);

		assert_int_equal(curve->n_phases, 1);
		fold_curve_free(curve);
	}
}

/* Points of few instances are many, and show what is peculiar to these; the phases stay those of
 * the curve. */
static void instances_are_not_taken_for_phases(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < by_build(1, 2); seed++) {
		struct fold_curve *curve =
			fit_truth(&truths[0], &truth_noises[1], 500, 50000, seed, true);

		assert_in_range(curve->n_instances, 90, 110);
		assert_in_range(curve->n_phases, 3, 6);
		fold_curve_free(curve);
	}
}

static void bands_cover_the_truth(void **state)
{
	static const size_t judged[] = {0, 4, 7};
	double in_y = 0, in_rate = 0;
	uint32_t n = 0;

	(void)state;
	ONLY_PLAIN();
	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++) {
		double *mean = truth_mean(&truths[judged[i]], &truth_noises[1], CELLS, 3000);

		for (uint64_t seed = 500; seed < 500 + by_length(1, 3); seed++, n++) {
			struct fold_curve *curve = fit_truth(&truths[judged[i]], &truth_noises[1],
							     1, 2000, seed, false);
			struct truth_judgement j = truth_judge(curve, &truths[judged[i]], mean);

			assert_true(curve->has_bands);
			in_y += j.in_y;
			in_rate += j.in_rate;
			fold_curve_free(curve);
		}
		free(mean);
	}
	/* Three folds leave a standard error of 5 %, nine of 3 %; the bench has 200 for each curve.
	 */
	assert_true(in_y / n > .87 && in_y / n < .99);
	assert_true(in_rate / n > .87 && in_rate / n < .99);
}

static void bands_narrow_with_instances(void **state)
{
	double width[2] = {0, 0};

	(void)state;
	ONLY_PLAIN();
	for (size_t i = 0; i < 2; i++) {
		size_t n = i == 0 ? 2000 : 32000;
		struct fold_curve *curve = fit_truth(&truths[0], &truth_noises[1], 1, n, 1, false);

		for (uint32_t c = 0; c <= curve->cells; c++)
			width[i] += curve->y_high[c] - curve->y_low[c];
		fold_curve_free(curve);
	}
	/* A quarter is expected of 16 times as many. */
	assert_true(width[1] < width[0] / 2 && width[1] > width[0] / 8);
}

static void order_and_repetition_change_nothing(void **state)
{
	struct fold_point *points = truth_sample(&truths[9], &truth_noises[1], 1, 600, 1);
	struct fold_options options = {.resamples = FEW_RESAMPLES};
	struct fold_curve *a, *b, *c;

	(void)state;
	a = fit(points, 600, &options);
	b = fit(points, 600, &options);
	for (size_t i = 0; i < 300; i++) {
		struct fold_point p = points[i];

		points[i] = points[599 - i];
		points[599 - i] = p;
	}
	c = fit(points, 600, &options);
	assert_memory_equal(a->y, b->y, (CELLS + 1) * sizeof(*a->y));
	assert_memory_equal(a->y_low, b->y_low, (CELLS + 1) * sizeof(*a->y));
	for (uint32_t i = 0; i <= CELLS; i++)
		assert_true(fabs(a->y[i] - c->y[i]) < 1e-6);
	fold_curve_free(a);
	fold_curve_free(b);
	fold_curve_free(c);
	free(points);
}

/* Every third instance counts all of its total in the first half, and the others in the second. */
static struct fold_point *two_kinds(size_t n, double *weights, double of_first)
{
	struct fold_point *points = calloc(n, sizeof(*points));

	for (uint32_t i = 0; i < n; i++) {
		uint64_t random = i;
		double x = truth_uniform(&random), y = i % 3 == 0 ? 2 * x : 2 * x - 1;

		weights[i] = i % 3 == 0 ? of_first : 1;
		points[i] = (struct fold_point){x, fmin(1, fmax(0, y)), i};
	}
	return points;
}

static void weights_weigh_instances(void **state)
{
	uint32_t n = (uint32_t)by_build(1500, 6000);
	double *weights = calloc(n, sizeof(*weights));
	struct fold_point *points = two_kinds(n, weights, 4);
	struct fold_options options = {.weights = weights, .n_weights = n, .no_bands = true};
	struct fold_curve *curve;

	(void)state;
	curve = fit(points, n, &(struct fold_options){.no_bands = true});
	assert_true(fabs(fold_curve_at(curve, .5) - 1 / 3.0) < .03);
	fold_curve_free(curve);
	curve = fit(points, n, &options);
	assert_true(fabs(fold_curve_at(curve, .5) - 4 / 6.0) < .03);
	assert_true(fabs(fold_curve_at(curve, .25) - 1 / 3.0) < .03);
	fold_curve_free(curve);
	for (uint32_t i = 0; i < n; i++)
		weights[i] = i % 3 == 0;
	curve = fit(points, n, &options);
	assert_int_equal(curve->n_points, n / 3);
	assert_int_equal(curve->n_phases, 2);
	assert_true(fabs(fold_curve_at(curve, .25) - .5) < .001);
	fold_curve_free(curve);
	free(points);
	free(weights);
}

/* All of the total at one moment is a phase of nearly no length. */
static void jumps_are_short_phases(void **state)
{
	struct fold_options options = {.resamples = FEW_RESAMPLES};
	struct fold_point points[2000];
	struct fold_curve *curve;
	bool is_found = false;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		uint64_t random = i;
		double x = truth_uniform(&random);

		points[i] = (struct fold_point){x, .3 * x + (x >= .4123 ? .7 : 0), i};
	}
	curve = fit(points, 2000, &options);
	check_form(curve);
	for (uint32_t i = 0; i < curve->n_phases; i++) {
		const struct fold_phase *p = &curve->phases[i];

		is_found = is_found || (p->to.value - p->from.value < .005 &&
					fabs(p->from.value - .4123) < .005 && p->share.value > .6);
	}
	assert_true(is_found);
	assert_in_range(curve->n_phases, 3, 5);
	assert_true(fabs(fold_curve_at(curve, .405) - .1215) < .01);
	assert_true(fabs(fold_curve_at(curve, .42) - .826) < .01);
	fold_curve_free(curve);
}

/* Ties ends of phases to knots of pieces, and looks where they are. */
static void tie(const double *ends, uint32_t n_ends, const double *knots, uint32_t n_knots,
		const double *wanted)
{
	struct fold_fit fit = {.pieces = {.n = n_knots + 2}, .phases = {.n = n_ends + 2}};

	fit.pieces.at[n_knots + 1] = fit.phases.at[n_ends + 1] = 1;
	for (uint32_t s = 0; s < n_knots; s++)
		fit.pieces.at[s + 1] = knots[s];
	for (uint32_t k = 0; k < n_ends; k++)
		fit.phases.at[k + 1] = ends[k];
	fold_fit_tie(&fit);
	for (uint32_t k = 0; k < n_ends; k++) {
		assert_true(fit.phases.at[k + 1] == wanted[k]);
		assert_true(fit.phases.at[k + 1] > fit.phases.at[k]);
	}
	assert_true(fit.phases.at[n_ends + 1] > fit.phases.at[n_ends]);
}

/* Two ends of a jump lie close beside each other: they keep their order. */
static void ends_of_a_jump_stay_in_order(void **state)
{
	const double ends[] = {.449, .451};

	(void)state;
	tie(ends, 2, (const double[]){.4489, .4512}, 2, (const double[]){.4489, .4512});
	tie(ends, 2, (const double[]){.4492}, 1, (const double[]){.4492, .451});
	tie(ends, 2, (const double[]){.46}, 1, (const double[]){.449, .46});
	tie(ends, 2, (const double[]){.44}, 1, (const double[]){.44, .451});
	tie(ends, 2, (const double[]){.44, .8}, 2, (const double[]){.44, .451});
	tie(ends, 2, (const double[]){.1, .46}, 2, (const double[]){.449, .46});
	tie(ends, 2, NULL, 0, ends);
}

static void few_instances_have_no_bands(void **state)
{
	struct fold_point points[40];
	struct fold_curve *curve;

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		points[i] = (struct fold_point){i / 40.0, i / 40.0, 7 + i % 3};
	curve = fit(points, 40, NULL);
	assert_int_equal(curve->n_instances, 3);
	assert_false(curve->has_bands);
	assert_true(isnan(curve->y_low[500]) && isnan(curve->phases[0].rate.high));
	assert_true(fabs(fold_curve_at(curve, .5) - .5) < 1e-3);
	fold_curve_free(curve);
	fold_curve_free(NULL);
}

/* What a counter that stands still, or all samples at one moment, look like. */
static void degenerate_points_have_a_curve(void **state)
{
	struct fold_options options = {.resamples = FEW_RESAMPLES};
	struct fold_point points[300];
	struct fold_curve *curve;

	(void)state;
	for (uint32_t kind = 0; kind < 4; kind++) {
		for (uint32_t i = 0; i < 300; i++) {
			double x = kind == 0 ? .5 : (i + .5) / 300;

			points[i] = (struct fold_point){x, kind == 1 ? 0 : kind == 2 ? 1 : .5, i};
		}
		if (kind == 3)
			points[0].x = points[1].y = 0, points[2].x = points[3].y = 1;
		curve = fit(points, 300, &options);
		check_form(curve);
		for (uint32_t c = 0; c <= curve->cells; c++)
			assert_true(curve->y_low[c] <= curve->y[c] &&
				    curve->y_high[c] >= curve->y[c]);
		fold_curve_free(curve);
	}
}

static void bad_input_is_refused(void **state)
{
	double weights[30] = {0};
	struct fold_point points[30];
	struct fold_curve *curve = NULL;
	struct fold_options weighted = {.weights = weights, .n_weights = 30};
	struct fold_options bad[] = {
		{.cells = 10}, {.cells = 10000}, {.resamples = 20000}, {.max_phases = 100}};

	(void)state;
	for (uint32_t i = 0; i < 30; i++)
		points[i] = (struct fold_point){i / 30.0, i / 30.0, i};
	assert_int_equal(fold_curve_fit(points, 19, NULL, &curve), -ENODATA);
	assert_int_equal(fold_curve_fit(points, 0, NULL, &curve), -ENODATA);
	assert_int_equal(fold_curve_fit(points, 30, &weighted, &curve), -ENODATA);
	weighted.n_weights = 29;
	assert_int_equal(fold_curve_fit(points, 30, &weighted, &curve), -EINVAL);
	weighted.n_weights = 30;
	weights[3] = -1;
	assert_int_equal(fold_curve_fit(points, 30, &weighted, &curve), -EINVAL);
	weights[3] = NAN;
	assert_int_equal(fold_curve_fit(points, 30, &weighted, &curve), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(fold_curve_fit(points, 30, &bad[i], &curve), -EINVAL);
	points[7].y = 1.01;
	assert_int_equal(fold_curve_fit(points, 30, NULL, &curve), -ERANGE);
	points[7].y = NAN;
	assert_int_equal(fold_curve_fit(points, 30, NULL, &curve), -ERANGE);
	assert_null(curve);
}

/* --- uniformity ------------------------------------------------------------------------------ */

static struct fold_uniform test_uniform(double *x, size_t n)
{
	struct fold_uniform u;

	assert_int_equal(fold_uniform_test(x, n, &u), 0);
	return u;
}

static void uniform_hits_are_uniform(void **state)
{
	double x[2000];
	uint32_t below = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		uint64_t random = hash_mix64(seed + 1);
		struct fold_uniform u;

		for (size_t i = 0; i < 2000; i++)
			x[i] = truth_uniform(&random);
		u = test_uniform(x, 2000);
		assert_int_equal(u.verdict, FOLD_UNIFORM);
		below += u.p < .05;
	}
	assert_in_range(below, 3, 20); /* 10 are expected, with a deviation of 3 */
}

static void locked_hits_are_told(void **state)
{
	double x[2000];
	uint64_t random = 1;
	struct fold_uniform u;

	(void)state;
	for (size_t i = 0; i < 2000; i++) /* the sampler's period is a quarter of the region's */
		x[i] = fmod(.13 + .25 * (double)(i % 4) + .004 * truth_normal(&random) + 1, 1);
	u = test_uniform(x, 2000);
	assert_int_equal(u.verdict, FOLD_LOCKED);
	assert_true(u.p < 1e-6 && u.hit < .5 && u.gap > .15);
	for (size_t i = 0; i < 2000; i++) /* about one moment, which is at both ends */
		x[i] = fmod(1 + .05 * truth_normal(&random), 1);
	assert_int_equal(test_uniform(x, 2000).verdict, FOLD_LOCKED);
	for (size_t i = 0; i < 2000; i++) /* the first half is hit twice as often */
		x[i] = truth_uniform(&random) * (i % 3 == 0 ? 1 : .5);
	u = test_uniform(x, 2000);
	assert_int_equal(u.verdict, FOLD_UNEVEN);
	assert_true(u.p < 1e-6);
}

static void few_hits_tell_nothing(void **state)
{
	double x[3] = {.5, .2, .4}, bad[2] = {.5, NAN};
	struct fold_uniform u = test_uniform(x, 3);

	(void)state;
	assert_int_equal(u.verdict, FOLD_TOO_FEW);
	assert_true(x[0] == .2 && u.gap == .5 && u.gap_from == .5);
	assert_int_equal(test_uniform(x, 0).verdict, FOLD_TOO_FEW);
	assert_int_equal(fold_uniform_test(bad, 2, &u), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(curves_are_accurate),
		cmocka_unit_test(exponentials_are_one_phase),
		cmocka_unit_test(doubtful_ends_have_wide_intervals),
		cmocka_unit_test(waves_are_one_phase),
		cmocka_unit_test(straight_curves_have_one_phase),
		cmocka_unit_test(instances_are_not_taken_for_phases),
		cmocka_unit_test(bands_cover_the_truth),
		cmocka_unit_test(bands_narrow_with_instances),
		cmocka_unit_test(order_and_repetition_change_nothing),
		cmocka_unit_test(weights_weigh_instances),
		cmocka_unit_test(jumps_are_short_phases),
		cmocka_unit_test(ends_of_a_jump_stay_in_order),
		cmocka_unit_test(few_instances_have_no_bands),
		cmocka_unit_test(degenerate_points_have_a_curve),
		cmocka_unit_test(bad_input_is_refused),
		cmocka_unit_test(uniform_hits_are_uniform),
		cmocka_unit_test(locked_hits_are_told),
		cmocka_unit_test(few_hits_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
