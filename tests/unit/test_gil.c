/* SPDX-License-Identifier: MIT */
/* Which futexes are Python's global interpreter lock. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/recorder/gil.h"

#define DISTANCE 0x500000 /* from a file's first byte to _PyRuntime */
#define BYTES	 0x9000

static struct object libpython = {.number = 1}, other = {.number = 2}, foreign = {.number = 3};

/* Stands in for daemon/tables/tables.c. */
const struct stackd_interpreter *tables_interpreter(const struct tables *tables,
						    const struct object *object)
{
	static const struct stackd_interpreter python = {
		.runtime = DISTANCE, .runtime_bytes = BYTES, .language = STACKD_RUNTIME_PYTHON};
	static const struct stackd_interpreter ruby = {
		.runtime = DISTANCE, .runtime_bytes = BYTES, .language = STACKD_RUNTIME_COUNT};

	(void)tables;
	return object == &libpython ? &python : object == &foreign ? &ruby : NULL;
}

static void test_ranges(void **state)
{
	struct mapping maps[] = {
		{.start = 0x10000, .end = 0x20000, .object = &other},
		/* the code is at the file's offset 0x3000 */
		{.start = 0x7f0000003000,
		 .end = 0x7f0000300000,
		 .offset = 0x3000,
		 .object = &libpython},
		{.start = 0x7f1000000000, .end = 0x7f1000300000, .object = &foreign},
		{.start = 0x7f2000000000,
		 .end = 0x7f2000300000,
		 .object = &libpython,
		 .is_copy = true},
	};
	const struct mapping_set set = {.maps = maps, .count = sizeof(maps) / sizeof(*maps)};
	const uint64_t at = 0x7f0000000000 + DISTANCE;

	(void)state;
	assert_true(gil_has(NULL, &set, at));
	assert_true(gil_has(NULL, &set, at + BYTES - 1));
	assert_false(gil_has(NULL, &set, at - 1));
	assert_false(gil_has(NULL, &set, at + BYTES));
	assert_false(gil_has(NULL, &set, 0x10000 + DISTANCE));
	assert_false(gil_has(NULL, &set, 0x7f1000000000 + DISTANCE));
	assert_false(gil_has(NULL, &set, 0x7f2000000000 + DISTANCE));
	assert_false(gil_has(NULL, NULL, at));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
