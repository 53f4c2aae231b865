/* SPDX-License-Identifier: MIT */
/* The factor for limits of time: a whole number, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "daemon/base/slowness.h"

static uint64_t slowness_of(const char *text)
{
	setenv("STACKD_SLOWNESS", text, 1);
	return slowness();
}

static void is_a_whole_number(void **state)
{
	(void)state;
	unsetenv("STACKD_SLOWNESS");
	assert_int_equal(slowness(), 1);
	assert_int_equal(slowness_of("1"), 1);
	assert_int_equal(slowness_of("100"), 100);
	assert_int_equal(slowness_of("1000"), SLOWNESS_MOST);
}

static void is_one_for_anything_else(void **state)
{
	static const char *const texts[] = {
		"", "0", "-2", "+2", " 2", "2x", "0.5", "1001", "99999999999999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(slowness_of(texts[i]), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_a_whole_number),
		cmocka_unit_test(is_one_for_anything_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
