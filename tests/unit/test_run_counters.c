/* SPDX-License-Identifier: MIT */
/* What a window has counted: the differences of counts, and what there is as it is now. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>

#include "daemon/run_counters.h"

static void test_counts_and_what_there_is(void **state)
{
	const struct run_counters start = {
		.tables = {.loaded = 5, .rows = 1000, .rules = 300, .inodes = 5, .most_files = 64},
		.workers = {.calls = 7, .resident_bytes = 9000},
		.objects = 6,
		.own_cpu_ns = 100,
		.rate_hz = 99,
	};
	const struct run_counters now = {
		.tables = {.loaded = 7, .rows = 400, .rules = 310, .inodes = 6, .most_files = 64},
		.workers = {.calls = 8, .resident_bytes = 4000},
		.objects = 8,
		.own_cpu_ns = 130,
		.rate_hz = 49,
	};
	const struct run_counters since = run_counters_since(&now, &start);

	(void)state;
	assert_int_equal(since.tables.loaded, 2);
	assert_int_equal(since.tables.rows, 400);
	assert_int_equal(since.tables.rules, 310);
	assert_int_equal(since.tables.inodes, 6);
	assert_int_equal(since.tables.most_files, 64);
	assert_int_equal(since.workers.calls, 1);
	assert_int_equal(since.workers.resident_bytes, 4000);
	assert_int_equal(since.objects, 8);
	assert_int_equal(since.own_cpu_ns, 30);
	assert_int_equal(since.rate_hz, 49);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_and_what_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
