/* SPDX-License-Identifier: MIT */
/* Groups of instances by duration and totals: modes that are known, outliers, and no groups in
 * noise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fold_math/modes.h"
#include "fold_truth.h"

#define N 3000

static struct fold_modes *group(const double *durations, const double *totals, uint32_t n)
{
	const double *features[2] = {durations, totals};
	struct fold_modes *modes = NULL;

	assert_int_equal(fold_modes_find(features, totals ? 2 : 1, n, &modes), 0);
	return modes;
}

static void one_mode_is_one_group(void **state)
{
	double durations[N];

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		uint64_t random = hash_mix64(seed + 1);
		double deviation = .01 + .005 * (double)seed;
		struct fold_modes *modes;

		for (uint32_t i = 0; i < N; i++)
			durations[i] = 5e6 * exp(deviation * truth_normal(&random));
		modes = group(durations, NULL, N);
		assert_int_equal(modes->n, 1);
		assert_true(modes->n_outliers <= 2);
		assert_true(fabs(modes->modes[0].median[0] / 5e6 - 1) < deviation);
		fold_modes_free(modes);
	}
}

/* Two of three instances take 1 ms, the third 1.5 ms; one in a hundred is interrupted for 20 ms. */
static void modes_and_outliers_are_told(void **state)
{
	double durations[N];

	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		uint64_t random = hash_mix64(seed + 1);
		struct fold_modes *modes;
		uint32_t wrong = 0;

		for (uint32_t i = 0; i < N; i++) {
			durations[i] =
				(i % 3 == 0 ? 1.5e6 : 1e6) * exp(.05 * truth_normal(&random));
			durations[i] += i % 200 == 7 ? 2e7 * truth_uniform(&random) + 5e6 : 0;
		}
		modes = group(durations, NULL, N);
		assert_int_equal(modes->n, 2);
		for (uint32_t i = 0; i < N; i++)
			wrong += modes->mode_of[i] != (i % 200 == 7 ? FOLD_OUTLIER
						       : i % 3 == 0 ? 1
								    : 0);
		assert_true(wrong <= 5);
		assert_in_range(modes->n_outliers, 13, 18);
		assert_true(modes->modes[0].count > modes->modes[1].count);
		fold_modes_free(modes);
	}
}

/* Instances that take as long, but half of which count nothing. */
static void totals_split_what_durations_do_not(void **state)
{
	double durations[N], totals[N];
	uint64_t random = 1;
	struct fold_modes *modes;

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		durations[i] = 1e6 * exp(.1 * truth_normal(&random));
		totals[i] = i % 2 ? 1000 * exp(.1 * truth_normal(&random)) : 0;
	}
	modes = group(durations, totals, N);
	assert_int_equal(modes->n, 2);
	for (uint32_t i = 0; i < N; i++)
		assert_true(modes->mode_of[i] == FOLD_OUTLIER ||
			    modes->mode_of[i] % 2 == (modes->mode_of[1] + i + 1) % 2);
	assert_true(modes->n_outliers < 5);
	fold_modes_free(modes);
}

static void odd_input_has_groups(void **state)
{
	double same[100], bad[2] = {1, -1};
	const double *features[1] = {bad};
	struct fold_modes *modes;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		same[i] = 42;
	for (uint32_t n = 0; n <= 100; n++) {
		modes = group(same, same, n);
		assert_int_equal(modes->n, n > 0);
		assert_int_equal(modes->n_outliers, 0);
		fold_modes_free(modes);
	}
	same[50] = 1e300;
	modes = group(same, NULL, 100);
	assert_int_equal(modes->n_outliers, 1);
	assert_int_equal(modes->mode_of[50], FOLD_OUTLIER);
	fold_modes_free(modes);
	fold_modes_free(NULL);
	assert_int_equal(fold_modes_find(features, 1, 2, &modes), -EINVAL);
	assert_int_equal(fold_modes_find(features, 0, 2, &modes), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_mode_is_one_group),
		cmocka_unit_test(modes_and_outliers_are_told),
		cmocka_unit_test(totals_split_what_durations_do_not),
		cmocka_unit_test(odd_input_has_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
