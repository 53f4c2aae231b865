/* SPDX-License-Identifier: MIT */
/* When the numbers of files, inodes and rules count as used up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/tables/numbers.h"

static struct tables_counts counts(uint64_t inodes, uint64_t rules)
{
	return (struct tables_counts){.most_files = 16384, .inodes = inodes, .rules = rules};
}

static void an_eighth_is_left(void **state)
{
	const struct {
		uint64_t inodes, rules;
		uint32_t objects;
		bool run_out;
	} cases[] = {
		{0, 0, 0, false},
		{14335, 57343, 14335, false},
		{14336, 0, 0, true},
		{0, 57344, 0, true},
		{0, 0, 14336, true},
		{0, 0, UINT32_MAX, true},
		{16384, 65536, 16385, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tables_counts c = counts(cases[i].inodes, cases[i].rules);

		assert_int_equal(numbers_run_out(&c, cases[i].objects), cases[i].run_out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(an_eighth_is_left)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
