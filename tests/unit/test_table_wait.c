/* SPDX-License-Identifier: MIT */
/* Records wait for tables: not for long, and not too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>

#include "daemon/recorder/table_wait.h"

#define NOW UINT64_C(5000000000)

static void test_waits_for_tables(void **state)
{
	struct table_wait hold = {0};

	(void)state;
	assert_false(table_wait_goes_on(&hold, false, NOW, 10));
	assert_true(table_wait_goes_on(&hold, true, NOW, 10));
	assert_true(table_wait_goes_on(&hold, true, NOW + TABLE_WAIT_NS - 1, 10));
	assert_false(table_wait_goes_on(&hold, false, NOW + TABLE_WAIT_NS - 1, 10));
}

/* Where one table after the other is missed, nothing is held for ever; but once all are there, it
 * begins anew. */
static void test_ends(void **state)
{
	struct table_wait hold = {0};

	(void)state;
	assert_true(table_wait_goes_on(&hold, true, NOW, 10));
	assert_false(table_wait_goes_on(&hold, true, NOW + TABLE_WAIT_NS, 10));
	assert_false(table_wait_goes_on(&hold, true, NOW + 3 * TABLE_WAIT_NS, 10));
	assert_false(table_wait_goes_on(&hold, false, NOW + 3 * TABLE_WAIT_NS, 10));
	assert_true(table_wait_goes_on(&hold, true, NOW + 3 * TABLE_WAIT_NS, 10));
}

/* One table after the other is missed, and made in time: all waits together have a limit, until all
 * records have been handed out. */
static void test_many_tables(void **state)
{
	const uint64_t each_ns = TABLE_WAIT_NS - 1;
	struct table_wait hold = {0};
	uint64_t now_ns = NOW, held_ns = 0;

	(void)state;
	for (int i = 0; i < 100 && table_wait_goes_on(&hold, true, now_ns, 10); i++) {
		now_ns += each_ns;
		held_ns += each_ns;
		assert_false(table_wait_goes_on(&hold, false, now_ns, 10));
		now_ns += 1000; /* other records are handed out */
	}
	assert_true(held_ns >= TABLE_WAIT_ALL_NS);
	assert_true(held_ns < TABLE_WAIT_ALL_NS + TABLE_WAIT_NS);
	assert_false(table_wait_goes_on(&hold, true, now_ns, 10));
	table_wait_forget(&hold);
	assert_true(table_wait_goes_on(&hold, true, now_ns, 10));
	assert_true(table_wait_goes_on(&hold, true, now_ns + each_ns, 10));
}

static void test_holds_no_more_than_that(void **state)
{
	struct table_wait hold = {0};

	(void)state;
	assert_false(table_wait_goes_on(&hold, true, NOW, TABLE_WAIT_BYTES));
	assert_true(table_wait_goes_on(&hold, true, NOW + 1, TABLE_WAIT_BYTES - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_for_tables),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_many_tables),
		cmocka_unit_test(test_holds_no_more_than_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
