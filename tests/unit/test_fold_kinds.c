/* SPDX-License-Identifier: MIT */
/* Kinds of bursts by their calls, durations and counters: those that are known, noise, and kinds
 * that chance does not make. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fold_math/kinds.h"
#include "fold_truth.h"

#define N 6000

static uint32_t calls[N];
static double durations[N], totals[N];

static struct fold_kinds *find(uint32_t n, bool with_totals)
{
	const double *features[] = {durations, totals};
	struct fold_kinds *kinds = NULL;

	assert_int_equal(
		fold_kinds_find(calls, features, with_totals ? 2 : 1, durations, n, &kinds), 0);
	return kinds;
}

static uint32_t count(const struct fold_kinds *kinds, uint32_t n, uint32_t kind)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++)
		found += kinds->kind_of[i] == kind;
	return found;
}

/* Sets a burst: its calls, and a duration with a deviation on the logarithmic scale. */
static void put(uint32_t i, uint32_t between, double ns, double deviation, uint64_t *random)
{
	calls[i] = between;
	durations[i] = ns * exp(deviation * truth_normal(random));
	totals[i] = 0;
}

/* Two kinds by their lengths between the same calls, a third one as long as the first between
 * others: every burst is of its own. */
static void known_kinds_are_found(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		uint64_t random = hash_mix64(seed + 1);
		double deviation = .001 + .0015 * (double)seed;
		struct fold_kinds *kinds;

		for (uint32_t i = 0; i < 3000; i++)
			put(i, i % 3 == 2, i % 3 == 1 ? 4e6 : 1e6, deviation, &random);
		kinds = find(3000, false);
		assert_int_equal(kinds->n, 3);
		for (uint32_t i = 0; i < 3000; i++)
			assert_int_equal(kinds->kind_of[i], kinds->kind_of[i % 3]);
		assert_int_equal(kinds->kind_of[1], 0); /* most time */
		assert_int_equal(kinds->n_noise, 0);
		fold_kinds_free(kinds);
	}
}

/* Kinds that are nearer to each other than the ratio of the radius. */
static void valleys_part_what_has_no_gap(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		uint64_t random = hash_mix64(seed + 1);
		struct fold_kinds *kinds;
		uint32_t wrong = 0;

		for (uint32_t i = 0; i < 3000; i++)
			put(i, 7, i % 2 ? 1.4e6 : 1e6, .05, &random);
		kinds = find(3000, false);
		assert_int_equal(kinds->n, 2);
		for (uint32_t i = 0; i < 3000; i++)
			wrong += kinds->kind_of[i] != kinds->kind_of[i % 2];
		/* 3.4 deviations are 0.03 % of a side */
		assert_true(wrong <= 12);
		fold_kinds_free(kinds);
	}
}

/* Bursts that last as long, but count differently; and those whose counts differ by chance. */
static void counters_part_what_durations_do_not(void **state)
{
	uint64_t random = 1;
	struct fold_kinds *kinds;

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		put(i, 0, 1e6, .1, &random);
		totals[i] = i % 2 ? 1000 : 0;
	}
	kinds = find(N, true);
	assert_int_equal(kinds->n, 2);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(kinds->kind_of[i], kinds->kind_of[i % 2]);
	fold_kinds_free(kinds);
	for (uint32_t i = 0; i < N; i++) {
		totals[i] = 0;
		for (double sum = truth_uniform(&random); sum > exp(-4); totals[i]++)
			sum *= truth_uniform(&random); /* Poisson's, of mean 4 */
	}
	kinds = find(N, true);
	assert_int_equal(kinds->n, 1);
	assert_int_equal(kinds->n_noise, 0);
	fold_kinds_free(kinds);
}

/* Single bursts far from all others are noise; four of them that are alike are a kind. */
static void rare_ones_are_noise_or_a_kind(void **state)
{
	uint64_t random = 3;
	struct fold_kinds *kinds;

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		put(i, 0, 1e6, .05, &random);
	durations[10] = 2e7;
	durations[20] = 5e7;
	durations[30] = 1e3;
	kinds = find(N, false);
	assert_int_equal(kinds->n, 1);
	assert_int_equal(kinds->n_noise, 3);
	assert_int_equal(kinds->kind_of[10], FOLD_NOISE);
	assert_int_equal(kinds->kind_of[20], FOLD_NOISE);
	assert_int_equal(kinds->kind_of[30], FOLD_NOISE);
	fold_kinds_free(kinds);
	for (uint32_t i = 100; i < 104; i++)
		durations[i] = 1e9 + i;
	kinds = find(N, false);
	assert_int_equal(kinds->n, 2);
	assert_int_equal(kinds->n_noise, 3);
	assert_int_equal(count(kinds, N, kinds->kind_of[100]), 4);
	fold_kinds_free(kinds);
}

/* What is too little for a density has the calls and the radius: no burst is noise. */
static void few_bursts_are_kinds(void **state)
{
	static const double ns[] = {1e6, 1.1e6, .9e6, 1e8, 1.2e8};
	struct fold_kinds *kinds;

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		calls[i] = 3;
		durations[i] = ns[i];
	}
	calls[5] = 9;
	durations[5] = 0;
	kinds = find(6, false);
	assert_int_equal(kinds->n, 3);
	assert_int_equal(kinds->n_noise, 0);
	assert_int_equal(kinds->kind_of[3], 0);
	assert_int_equal(kinds->kind_of[4], 0);
	assert_int_equal(kinds->kind_of[0], 1);
	assert_int_equal(kinds->kind_of[1], 1);
	assert_int_equal(kinds->kind_of[2], 1);
	assert_int_equal(kinds->kind_of[5], 2);
	fold_kinds_free(kinds);
	kinds = find(0, false);
	assert_int_equal(kinds->n, 0);
	fold_kinds_free(kinds);
}

/* In a long run there is always a burst between two kinds: these do not become one for it. */
static void noise_links_no_kinds(void **state)
{
	uint64_t random = 5;
	struct fold_kinds *kinds;
	uint32_t wrong = 0;

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		put(i, 0, i % 2 ? 1e6 : 8e6, .05, &random);
		if (i % 50 == 7)
			durations[i] = 1e6 * exp(log(8) * truth_uniform(&random));
	}
	kinds = find(N, false);
	assert_int_equal(kinds->n, 2);
	for (uint32_t i = 0; i < N; i++)
		wrong += i % 50 != 7 && kinds->kind_of[i] != kinds->kind_of[i % 2];
	assert_int_equal(wrong, 0);
	fold_kinds_free(kinds);
}

/* The order in which bursts come makes no difference. */
static void order_is_nothing(void **state)
{
	static uint32_t before[N];
	uint64_t random = 9;
	struct fold_kinds *kinds;

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		put(i, i % 5, i % 7 < 3 ? 1e6 : 3e6, .1, &random);
	kinds = find(N, false);
	for (uint32_t i = 0; i < N; i++)
		before[i] = kinds->kind_of[i];
	assert_int_equal(kinds->n, 10);
	fold_kinds_free(kinds);
	for (uint32_t i = 0; i < N / 2; i++) {
		double ns = durations[i];
		uint32_t between = calls[i];

		durations[i] = durations[N - 1 - i];
		calls[i] = calls[N - 1 - i];
		durations[N - 1 - i] = ns;
		calls[N - 1 - i] = between;
	}
	kinds = find(N, false);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(kinds->kind_of[i], before[N - 1 - i]);
	fold_kinds_free(kinds);
}

static void bad_input_is_refused(void **state)
{
	const double *features[] = {durations};
	struct fold_kinds *kinds;

	(void)state;
	calls[0] = 0;
	for (int i = 0; i < 3; i++) {
		durations[0] = i == 0 ? -1 : i == 1 ? NAN : INFINITY;
		assert_int_equal(fold_kinds_find(calls, features, 1, durations, 1, &kinds),
				 -EINVAL);
	}
	durations[0] = 1;
	assert_int_equal(fold_kinds_find(calls, features, 0, durations, 1, &kinds), -EINVAL);
	fold_kinds_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_kinds_are_found),
		cmocka_unit_test(valleys_part_what_has_no_gap),
		cmocka_unit_test(counters_part_what_durations_do_not),
		cmocka_unit_test(rare_ones_are_noise_or_a_kind),
		cmocka_unit_test(few_bursts_are_kinds),
		cmocka_unit_test(noise_links_no_kinds),
		cmocka_unit_test(order_is_nothing),
		cmocka_unit_test(bad_input_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
