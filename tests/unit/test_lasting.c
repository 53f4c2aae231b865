/* SPDX-License-Identifier: MIT */
/* How long sampled waits lasted, and the part of a record that lies in a range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "fake_store.h"
#include "model/lasting.h"

/* What a wait stands for that is kept with the probability 1 - exp(-d / mean), as the daemon tells
 * it. */
static uint64_t stands_for(uint64_t ns, uint64_t mean_ns)
{
	return (uint64_t)((double)ns / -expm1(-(double)ns / (double)mean_ns) + 0.5);
}

static void test_length(void **state)
{
	static const uint64_t means[] = {1000000, 10000000, 60000000000};
	static const uint64_t lengths[] = {1000,     20000,    300000,
					   10000000, 70000000, UINT64_C(3600000000000)};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < 6; k++) {
			uint64_t got = lasting_wait_ns(stands_for(lengths[k], means[i]), means[i]);
			/* What it stands for is rounded to a nanosecond, which of a short wait is
			 * two of its length. */
			double off = fabs((double)got - (double)lengths[k]);

			assert_true(off <=
				    3 + 1e-9 * (double)lengths[k] + 1e-12 * (double)means[i]);
		}
	}
	assert_int_equal(lasting_wait_ns(12345, 0), 12345); /* all are kept */
	assert_int_equal(lasting_wait_ns(10000000, 10000000), 1);
	assert_int_equal(lasting_wait_ns(5, 10000000), 1); /* no daemon writes that */
}

static void test_within(void **state)
{
	static const struct span spans[] = {{100, 200}, {400, 500}};
	static const struct span at = {300, 300};
	const struct lasting pass = {.spans = spans, .n = 2, .ns = 200};
	const struct lasting moment = {.spans = &at, .n = 1};
	uint64_t part = 7, sum = 0;

	(void)state;
	assert_true(lasting_within(&pass, 2000, 0, UINT64_MAX, &part));
	assert_int_equal(part, 2000);
	assert_true(lasting_within(&pass, 2000, 150, 425, &part));
	assert_int_equal(part, 750);
	part = 7;
	assert_false(lasting_within(&pass, 2000, 200, 400, &part));
	assert_int_equal(part, 7);
	for (uint64_t from = 90; from < 510; from += 7)
		if (lasting_within(&pass, 2000, from, from + 7, &part))
			sum += part;
	assert_int_equal(sum, 2000);
	assert_true(lasting_within(&moment, 9, 300, 301, &part));
	assert_int_equal(part, 9);
	assert_false(lasting_within(&moment, 9, 299, 300, &part));
}

static void test_which(void **state)
{
	(void)state;
	assert_true(lasting_is(METRIC_WALL) && lasting_is(METRIC_WAIT_RUNNABLE));
	assert_true(lasting_is(METRIC_REGION_TIME) && lasting_is(METRIC_CPU_TIME));
	assert_false(lasting_is(METRIC_CPU) || lasting_is(METRIC_REGION_VISITS));
	assert_false(lasting_is(METRIC_ALLOC_BYTES) || lasting_is(METRIC_MPI_SENT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_which),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
