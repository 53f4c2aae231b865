/* SPDX-License-Identifier: MIT */
/* The moments at which the clocks of CPUs start (daemon/capture/phases.h). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "daemon/capture/phases.h"

#define MOST 512

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the least distance of two of `n` clocks, as they run on: in a circle of one span. */
static uint64_t least_distance(size_t n, uint64_t span)
{
	uint64_t moments[MOST], least;

	for (size_t i = 0; i < n; i++) {
		moments[i] = phases_offset(i, span);
		assert_true(moments[i] < span);
	}
	qsort(moments, n, sizeof(*moments), by_value);
	least = moments[0] + span - moments[n - 1];
	for (size_t i = 1; i < n; i++) {
		if (moments[i] - moments[i - 1] < least)
			least = moments[i] - moments[i - 1];
	}
	return least;
}

/* However many there are, and neighbours most of all. */
static void test_clocks_are_apart(void **state)
{
	const uint64_t span = 1003009;

	(void)state;
	assert_int_equal(phases_offset(0, span), 0);
	assert_true(least_distance(2, span) > span / 3);
	for (size_t n = 2; n <= MOST; n++)
		assert_true(least_distance(n, span) >= span / (n * 23 / 10 + 1));
	for (size_t i = 1; i < MOST; i++) {
		const uint64_t a = phases_offset(i, span), b = phases_offset(i - 1, span);
		const uint64_t distance = a > b ? a - b : b - a;

		assert_in_range(distance, span / 3, span - span / 3);
	}
}

struct started {
	uint64_t period, begin_ns, last_offset;
	size_t n;
	unsigned times[MOST];
	size_t failing;
};

static int start(void *arg, size_t i)
{
	struct started *s = arg;
	const uint64_t span = s->period < PHASES_MOST_NS ? s->period : PHASES_MOST_NS;
	const uint64_t offset = phases_offset(i, span);

	assert_true(i < s->n);
	assert_true(offset >= s->last_offset);
	assert_true(clock_ns(CLOCK_MONOTONIC) - s->begin_ns >= offset);
	s->last_offset = offset;
	s->times[i]++;
	return i < s->failing ? 0 : -(int)i;
}

static void check_start(size_t n, uint64_t period, size_t failing)
{
	struct started s = {.period = period, .n = n, .failing = failing};
	int err;

	s.begin_ns = clock_ns(CLOCK_MONOTONIC);
	err = phases_start(n, period, start, &s);
	assert_true(failing < n ? err < 0 : err == 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(s.times[i], 1);
}

/* Each clock is started once, not before its moment, also if others cannot be started. */
static void test_each_starts_at_its_moment(void **state)
{
	const uint64_t periods[] = {0, 250000, 1003009, 10000000, 4000000000};

	(void)state;
	for (size_t i = 0; i < sizeof(periods) / sizeof(*periods); i++) {
		check_start(0, periods[i], MOST);
		check_start(1, periods[i], MOST);
		check_start(2, periods[i], MOST);
		check_start(7, periods[i], 3);
		check_start(MOST, periods[i], MOST);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clocks_are_apart),
		cmocka_unit_test(test_each_starts_at_its_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
