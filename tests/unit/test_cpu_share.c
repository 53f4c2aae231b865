/* SPDX-License-Identifier: MIT */
/* A share of a core for a thread's work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/base/cpu_share.h"

#define SECOND_NS UINT64_C(1000000000)

static void test_saves_and_pays_off(void **state)
{
	struct cpu_share s = cpu_share_begin(0.005, 3 * SECOND_NS, SECOND_NS);
	(void)state;

	cpu_share_spend(&s, 3 * SECOND_NS, SECOND_NS);
	assert_int_equal(cpu_share_wait_ns(&s, SECOND_NS), 0);
	/* A debt of a millisecond takes a fifth of a second. */
	cpu_share_spend(&s, SECOND_NS / 1000, SECOND_NS);
	assert_in_range(cpu_share_wait_ns(&s, SECOND_NS), SECOND_NS / 5, SECOND_NS / 5 + 2);
	assert_true(cpu_share_wait_ns(&s, SECOND_NS + SECOND_NS / 10) > 0);
	assert_int_equal(cpu_share_wait_ns(&s, SECOND_NS + SECOND_NS / 5 + 2), 0);
	/* No more than three seconds are saved. */
	assert_int_equal(cpu_share_wait_ns(&s, 1000000 * SECOND_NS), 0);
	cpu_share_spend(&s, 3 * SECOND_NS + 1000000, 1000000 * SECOND_NS);
	assert_true(cpu_share_wait_ns(&s, 1000000 * SECOND_NS) > 0);
}

static void test_no_limit(void **state)
{
	struct cpu_share s = cpu_share_begin(0, SECOND_NS, SECOND_NS);
	(void)state;

	cpu_share_spend(&s, 1000 * SECOND_NS, SECOND_NS);
	assert_int_equal(cpu_share_wait_ns(&s, SECOND_NS), 0);
}

static void test_changes(void **state)
{
	struct cpu_share s = cpu_share_begin(0.005, 3 * SECOND_NS, SECOND_NS);
	(void)state;

	cpu_share_change(&s, 0.001, true);
	cpu_share_spend(&s, 2 * SECOND_NS, SECOND_NS);
	assert_int_equal(cpu_share_wait_ns(&s, SECOND_NS), 0);
	cpu_share_change(&s, 0.001, false); /* gives up the third second */
	cpu_share_spend(&s, SECOND_NS / 1000, SECOND_NS);
	assert_in_range(cpu_share_wait_ns(&s, SECOND_NS), SECOND_NS, SECOND_NS + 2);
	cpu_share_change(&s, 0.002, false); /* the debt stays */
	assert_in_range(cpu_share_wait_ns(&s, SECOND_NS), SECOND_NS / 2, SECOND_NS / 2 + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_saves_and_pays_off),
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
