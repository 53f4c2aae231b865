/* SPDX-License-Identifier: MIT */
/* Curves from increments of counters that take turns: within the limits of those from readings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fold_turns.h"
#include "length.h"

static void test_known_curves(void **state)
{
	static const size_t curves[] = {0, 2, 9};

	(void)state;
	for (size_t i = 0; i < by_build(1, sizeof(curves) / sizeof(*curves)); i++) {
		const struct truth *truth = &truths[curves[i]];
		double *mean = truth_mean(truth, &truth_noises[0], 1000, 2000), total;
		struct turns *t = turns_make(truth, &truth_noises[0], 7 + i);
		struct truth_judgement j;
		struct fold_curve *curve;
		size_t whole;

		assert_int_equal(
			fold_increments_fit(
				t->made, t->n, t->lengths, t->instance + 1,
				&(struct fold_options){.resamples = by_build(20, 200), .seed = 1},
				&curve, &total, &whole),
			0);
		j = truth_judge(curve, truth, mean);
		if (j.mean_error > 0.003 || j.max_error > 0.01)
			fail_msg("%s: mean error %g, largest %g", truth->name, j.mean_error,
				 j.max_error);
		assert_true(fabs(total / TURNS_TOTAL - 1) < 0.02);
		assert_in_range(whole, TURNS_SAMPLE / 2, TURNS_SAMPLE);
		assert_true(curve->has_bands);
		fold_curve_free(curve);
		free(mean);
		free(t);
	}
}

/* The bands hold the truth. What the iteration makes of these curves is biased: without the bias, a
 * third to a half of the places were within the bands. */
static void test_bands(void **state)
{
	static const size_t curves[] = {4, 6};
	double in_y = 0, in_rate = 0;

	(void)state;
	if (!by_build(0, 1))
		skip();
	for (size_t i = 0; i < 4; i++) {
		const struct truth *truth = &truths[curves[i / 2]];
		double *mean = truth_mean(truth, &truth_noises[1], 1000, 3000), total;
		struct turns *t = turns_make(truth, &truth_noises[1], 700 + i);
		struct truth_judgement j;
		struct fold_curve *curve;
		size_t whole;

		assert_int_equal(fold_increments_fit(t->made, t->n, t->lengths, t->instance + 1,
						     &(struct fold_options){.seed = i}, &curve,
						     &total, &whole),
				 0);
		j = truth_judge(curve, truth, mean);
		in_y += j.in_y / 4;
		in_rate += j.in_rate / 4;
		fold_curve_free(curve);
		free(mean);
		free(t);
	}
	assert_true(in_y > .85 && in_rate > .85);
}

/* Time between instances has a rate of its own, which is no part of the curve. */
static void test_time_between(void **state)
{
	struct fold_increment made[400];
	double lengths[201], total;
	struct fold_curve *curve;
	size_t whole;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		double x = (i % 50 + 0.5) / 50;

		lengths[i] = 1;
		made[2 * i] = (struct fold_increment){
			.from = 0, .to = x, .value = 10 * x, .ran = 1, .first = i, .last = i};
		made[2 * i + 1] = (struct fold_increment){.from = x,
							  .to = 0.5,
							  .outside = 3,
							  .value = 10 * (1.5 - x) + 3 * 40,
							  .ran = 1,
							  .first = i,
							  .last = i + 1,
							  .follows = true};
	}
	lengths[200] = 1;
	assert_int_equal(fold_increments_fit(made, 400, lengths, 201,
					     &(struct fold_options){.seed = 1}, &curve, &total,
					     &whole),
			 0);
	assert_true(fabs(total - 10) < 0.1);
	assert_true(fabs(fold_curve_at(curve, 0.3) - 0.3) < 0.01);
	fold_curve_free(curve);
}

/* What was scaled over more than a part of an instance tells nothing of its course. */
static void test_too_far_apart(void **state)
{
	struct fold_increment made[200];
	double lengths[200], total;
	struct fold_curve *curve;
	size_t whole;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		lengths[i] = 1;
		made[i] = (struct fold_increment){
			.to = 1, .value = 1, .ran = 0.5, .first = i, .last = i};
	}
	assert_int_equal(fold_increments_fit(made, 200, lengths, 200,
					     &(struct fold_options){.seed = 1}, &curve, &total,
					     &whole),
			 -ENODATA);
	for (uint32_t i = 0; i < 200; i++)
		made[i] = (struct fold_increment){.to = 0.1, .ran = 1, .first = i, .last = i};
	assert_int_equal(fold_increments_fit(made, 200, lengths, 200,
					     &(struct fold_options){.seed = 1}, &curve, &total,
					     &whole),
			 -ENODATA); /* it never counts */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_curves), cmocka_unit_test(test_bands),
		cmocka_unit_test(test_time_between), cmocka_unit_test(test_too_far_apart)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
