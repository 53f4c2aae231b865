/* SPDX-License-Identifier: MIT */
/* Curves from increments of counters that take turns: within the limits of those from readings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fold/increments.h"
#include "fold_truth.h"

#define EACH   20  /* readings while an instance of length 1 takes its time */
#define SLOT   0.2 /* of such a time: how long a counter counts, before it does not for as long */
#define SAMPLE 1000
#define TOTAL  1e6

/* A thread in which a counter takes turns with another one, as a processor counts. */
struct thread {
	struct truth_instance in;
	double begin, now; /* of the instance, and time */
	double counted, ran;
	double lengths[SAMPLE]; /* of instances */
	uint32_t instance;
	struct fold_increment made[SAMPLE];
	size_t n;
};

static bool is_on(double time)
{
	return fmod(time, 2 * SLOT) < SLOT;
}

/* Lets the counter count until a time within the instance. */
static void run(struct thread *t, double until)
{
	while (t->now < until) {
		double edge = (floor(t->now / SLOT + 1e-9) + 1) * SLOT, to = fmin(edge, until);
		double x = (t->now - t->begin) / t->in.duration;
		double upto = fmin(1, (to - t->begin) / t->in.duration);

		if (is_on((t->now + to) / 2)) {
			t->counted += TOTAL * (truth_at(&t->in, upto) - truth_at(&t->in, x));
			t->ran += to - t->now;
		}
		t->now = to;
	}
}

static void begin_instance(struct thread *t, const struct truth *truth, uint64_t *random)
{
	t->begin = t->now;
	t->in = truth_draw(truth, &truth_noises[0], random);
	t->lengths[t->instance] = t->in.duration;
}

static struct thread *make(const struct truth *truth, uint64_t seed)
{
	struct thread *t = calloc(1, sizeof(*t));
	uint64_t random = hash_mix64(seed);
	double next = truth_uniform(&random) / EACH, time = -1, counted = 0, ran = 0, x = 0;
	uint32_t instance = 0;

	assert_non_null(t);
	begin_instance(t, truth, &random);
	while (t->n < SAMPLE) {
		if (next >= t->begin + t->in.duration) {
			run(t, t->begin + t->in.duration);
			t->instance++;
			begin_instance(t, truth, &random);
			continue;
		}
		run(t, next);
		if (is_on(next) && time >= 0) {
			double part = fmin(1, (t->ran - ran) / (next - time));

			t->made[t->n++] =
				(struct fold_increment){.from = x,
							.to = (next - t->begin) / t->in.duration,
							.value = (t->counted - counted) / part,
							.ran = part,
							.first = instance,
							.last = t->instance,
							.follows = t->n > 0};
		}
		if (is_on(next)) {
			time = next;
			counted = t->counted;
			ran = t->ran;
			x = (next - t->begin) / t->in.duration;
			instance = t->instance;
		}
		next += (0.5 + truth_uniform(&random)) / EACH;
	}
	return t;
}

static void test_known_curves(void **state)
{
	static const size_t curves[] = {0, 2, 9};

	(void)state;
	for (size_t i = 0; i < sizeof(curves) / sizeof(*curves); i++) {
		const struct truth *truth = &truths[curves[i]];
		double *mean = truth_mean(truth, &truth_noises[0], 1000, 2000), total;
		struct thread *t = make(truth, 7 + i);
		struct truth_judgement j;
		struct fold_curve *curve;
		size_t whole;

		assert_int_equal(fold_increments_fit(t->made, t->n, t->lengths, t->instance + 1,
						     &(struct fold_options){.seed = 1}, &curve,
						     &total, &whole),
				 0);
		j = truth_judge(curve, truth, mean);
		if (j.mean_error > 0.003 || j.max_error > 0.01)
			fail_msg("%s: mean error %g, largest %g", truth->name, j.mean_error,
				 j.max_error);
		assert_true(fabs(total / TOTAL - 1) < 0.02);
		assert_in_range(whole, SAMPLE / 2, SAMPLE);
		assert_true(curve->has_bands);
		fold_curve_free(curve);
		free(mean);
		free(t);
	}
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_curves),
					   cmocka_unit_test(test_time_between),
					   cmocka_unit_test(test_too_far_apart)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
