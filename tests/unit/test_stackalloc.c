/* SPDX-License-Identifier: MIT */
/* libstackalloc's parts: unbiased weights with the stated error, and the set of sampled blocks. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "libstackalloc/live.h"
#include "libstackalloc/sample.h"

/* --- sampling --------------------------------------------------------------------------------- */

struct estimate {
	double bytes;
	double variance; /* estimated from the samples: the sum of weight * (weight - size) */
	unsigned samples;
};

/* Of blocks that are made; between them, `failing` bytes are asked for that are not. */
static struct estimate sampled(size_t size, unsigned blocks, size_t failing)
{
	struct estimate e = {0};

	for (unsigned i = 0; i < blocks; i++) {
		uint64_t weight;

		if (failing && sample_is_due(failing))
			assert_int_equal(sample_take(failing, false), 0);
		weight = sample_is_due(size) ? sample_take(size, true) : 0;
		if (!weight)
			continue;
		assert_true(weight >= size);
		e.bytes += (double)weight;
		e.variance += (double)weight * (double)(weight - size);
		e.samples++;
	}
	return e;
}

/* The mean of many estimates lies within six standard errors of the truth, which chance violates in
 * 2 of 10^9 cases, and of their 95 % intervals as many cover it as should. */
static void sample_estimates_are_unbiased(void **state)
{
	static const struct {
		size_t size;
		unsigned blocks;
	} cases[] = {{1, 200000}, {100, 20000}, {20000, 200}, {1u << 20, 30}, {3000000000u, 2}};
	enum { RUNS = 1000 };

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		double truth = (double)cases[c].size * cases[c].blocks, sum = 0, squares = 0;
		unsigned covered = 0;

		sample_set_distance(c ? cases[c].size : 1000);
		for (unsigned run = 0; run < RUNS; run++) {
			struct estimate e = sampled(cases[c].size, cases[c].blocks,
						    run % 2 ? cases[c].size / 2 : 0);

			sum += e.bytes - truth;
			squares += (e.bytes - truth) * (e.bytes - truth);
			covered += fabs(e.bytes - truth) <= 1.96 * sqrt(e.variance) + 1;
		}
		assert_true(fabs(sum / RUNS) <= 6 * sqrt(squares) / RUNS + 1);
		/* Such an interval covers it with a probability of 94.6 % in the first case, of
		 * 95.2 % in the third, and of less where there are few samples. By the binomial
		 * distribution, of 1,000 fewer than 905 or more than 988 do in 1 of 10^7 runs. */
		if (cases[c].blocks >= 200)
			assert_in_range(covered, 905, 988);
	}
}

static void sample_distances_are_exponential(void **state)
{
	enum { BYTES = 4000000, MEAN = 100 };
	unsigned gap = 0, gaps = 0, above_mean = 0;

	(void)state;
	sample_set_distance(MEAN);
	sample_begin_anew();
	for (unsigned i = 0; i < BYTES; i++, gap++) {
		if (!sample_is_due(1) || !sample_take(1, true))
			continue;
		gaps++;
		above_mean += gap > MEAN;
		gap = 0;
	}
	/* 1 - exp(-1/100) of the bytes are hit; after a hit, exp(-1) of the gaps exceed the mean.
	 */
	assert_true(fabs(gaps - BYTES * -expm1(-1.0 / MEAN)) < 5 * sqrt(BYTES / MEAN));
	assert_true(fabs(above_mean / (double)gaps - exp(-1)) < 0.015);
}

static void *draw_one(void *context)
{
	*(int64_t *)context = sample_is_due(1) ? (int64_t)sample_take(1, true) + sample_left : 0;
	return NULL;
}

static void sample_threads_draw_for_themselves(void **state)
{
	pthread_t threads[2];
	int64_t drawn[2];

	(void)state;
	sample_set_distance(0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, draw_one, &drawn[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_not_equal(drawn[0], drawn[1]);
	assert_true(drawn[0] > 0 && drawn[0] < 40 * (int64_t)SAMPLE_DISTANCE);
}

/* A block of no bytes counts as one byte: many of them are hit at last. */
static void sample_counts_empty_blocks(void **state)
{
	(void)state;
	sample_set_distance(10);
	assert_in_range(sampled(0, 100000, 0).samples, 9000, 10500);
}

/* --- live blocks ------------------------------------------------------------------------------ */

static const void *block(uintptr_t number)
{
	return (const void *)(0x7f0000000000u + number * 16);
}

static void live_knows_its_blocks(void **state)
{
	enum { BLOCKS = 200000 };

	(void)state;
	assert_false(live_may_have(block(0)));
	assert_false(live_remove(block(0)));
	for (uintptr_t i = 0; i < BLOCKS; i++)
		assert_true(live_add(block(i)));
	assert_int_equal(live_count, BLOCKS);
	assert_true(live_add(block(7)));
	assert_int_equal(live_count, BLOCKS);
	for (uintptr_t i = 0; i < BLOCKS; i += 2) {
		assert_true(live_may_have(block(i)));
		assert_true(live_remove(block(i)));
		assert_false(live_remove(block(i)));
	}
	for (uintptr_t i = 1; i < BLOCKS; i += 2)
		assert_true(live_remove(block(i)));
	assert_int_equal(live_count, 0);
}

/* With few blocks, nearly all others pass by the filter alone. */
static void live_filter_lets_others_pass(void **state)
{
	unsigned alarms = 0;

	(void)state;
	live_forget();
	for (uintptr_t i = 0; i < 2000; i++)
		live_add(block(i * 977));
	for (uintptr_t i = 0; i < 100000; i++)
		alarms += live_may_have(block(10000000 + i * 3));
	assert_in_range(alarms, 1, 6000);
	live_forget();
	assert_int_equal(live_count, 0);
	assert_false(live_remove(block(977)));
}

/* Counters that overflow miss nothing. */
static void live_filter_overflows(void **state)
{
	enum { SAME = 600 };
	static const void *same[SAME];
	uint64_t counter = live_hash(block(1)) >> (64 - LIVE_FILTER_BITS);
	unsigned n = 0;

	(void)state;
	live_forget();
	for (uintptr_t i = 1; n < SAME; i++) {
		if (live_hash(block(i)) >> (64 - LIVE_FILTER_BITS) == counter)
			same[n++] = block(i);
	}
	for (n = 0; n < SAME; n++)
		live_add(same[n]);
	for (n = 0; n < SAME; n++) {
		assert_true(live_may_have(same[n]));
		assert_true(live_remove(same[n]));
	}
	live_forget();
}

static void live_holds_a_block(void **state)
{
	(void)state;
	live_add(block(5));
	assert_false(live_hold(block(6)));
	assert_true(live_hold(block(5)));
	live_release(block(5), false);
	assert_true(live_hold(block(5)));
	live_release(block(5), true);
	assert_false(live_hold(block(5)));
}

static void *add_and_remove(void *context)
{
	uintptr_t thread = *(unsigned *)context, missed = 0;

	for (uintptr_t round = 0; round < 20; round++) {
		for (uintptr_t i = 0; i < 2000; i++)
			live_add(block(i * 4 + thread));
		for (uintptr_t i = 0; i < 2000; i++)
			missed += !live_may_have(block(i * 4 + thread)) ||
				  !live_remove(block(i * 4 + thread));
	}
	return (void *)missed;
}

static void live_is_shared_by_threads(void **state)
{
	pthread_t threads[4];
	unsigned numbers[4] = {0, 1, 2, 3};

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_remove, &numbers[i]), 0);
	for (int i = 0; i < 4; i++) {
		void *missed;

		pthread_join(threads[i], &missed);
		assert_null(missed);
	}
	assert_int_equal(live_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_estimates_are_unbiased),
		cmocka_unit_test(sample_distances_are_exponential),
		cmocka_unit_test(sample_threads_draw_for_themselves),
		cmocka_unit_test(sample_counts_empty_blocks),
		cmocka_unit_test(live_knows_its_blocks),
		cmocka_unit_test(live_filter_lets_others_pass),
		cmocka_unit_test(live_filter_overflows),
		cmocka_unit_test(live_holds_a_block),
		cmocka_unit_test(live_is_shared_by_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
