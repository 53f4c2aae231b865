/* SPDX-License-Identifier: MIT */
/* Which events of mappings are left out, and when their processes are read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/recorder/mapping_shares.h"

#define SECOND_NS UINT64_C(1000000000)
#define BUDGET	  0.01

static unsigned take(struct mapping_shares *s, pid_t pid, unsigned n, uint64_t time_ns)
{
	unsigned taken = 0;

	for (unsigned i = 0; i < n; i++)
		taken += mapping_shares_take(s, pid, BUDGET, time_ns);
	return taken;
}

static void test_many_are_left_out(void **state)
{
	struct mapping_shares s = {0};
	const unsigned many = 1000000;
	unsigned taken;
	(void)state;

	taken = take(&s, getpid(), many, 10 * SECOND_NS);
	assert_true(taken >= 1024 && taken < many / 10);
	assert_int_equal(s.left_out, many - taken);
	/* A second later, few. */
	assert_int_equal(take(&s, getpid(), 10, 10 * SECOND_NS + SECOND_NS / 2), 0);
	taken = take(&s, getpid(), many, 12 * SECOND_NS);
	assert_true(taken >= MAPPING_SHARES_FREE && taken <= 8 * MAPPING_SHARES_FREE);
	mapping_shares_fini(&s);
}

static void test_without_budget(void **state)
{
	struct mapping_shares s = {0};
	(void)state;

	for (unsigned i = 0; i < 100000; i++)
		assert_true(mapping_shares_take(&s, getpid(), 0, SECOND_NS));
	mapping_shares_fini(&s);
}

static void test_read_again_once_there_is_room(void **state)
{
	struct mapping_shares s = {0};
	(void)state;

	take(&s, getpid(), 1000000, 10 * SECOND_NS);
	mapping_shares_leave_out(&s, getpid());
	mapping_shares_leave_out(&s, getpid());
	assert_int_equal(mapping_shares_next(&s, BUDGET, 10 * SECOND_NS), 0);
	assert_int_equal(mapping_shares_next(&s, BUDGET, 60 * SECOND_NS), getpid());
	assert_int_equal(mapping_shares_next(&s, BUDGET, 60 * SECOND_NS), 0);
	mapping_shares_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_are_left_out),
		cmocka_unit_test(test_without_budget),
		cmocka_unit_test(test_read_again_once_there_is_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
