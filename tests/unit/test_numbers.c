/* SPDX-License-Identifier: MIT */
/* When few numbers of files, inodes and rules are left; giving numbers of files, and taking them
 * back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/tables/file_numbers.h"
#include "daemon/tables/numbers.h"

static void an_eighth_is_left(void **state)
{
	const struct {
		uint64_t files, inodes, rules;
		bool are_few, rules_are_few;
	} cases[] = {
		{0, 0, 0, false, false},	   {14335, 14335, 57343, false, false},
		{14336, 0, 0, true, false},	   {0, 14336, 0, true, false},
		{0, 0, 57344, false, true},	   {16383, 0, 0, true, false},
		{16383, 16384, 65536, true, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tables_counts c = {.most_files = 16384,
						.files = cases[i].files,
						.inodes = cases[i].inodes,
						.rules = cases[i].rules};

		assert_int_equal(numbers_are_few(&c), cases[i].are_few);
		assert_int_equal(numbers_rules_are_few(&c), cases[i].rules_are_few);
	}
}

/* Objects come without end; what is given is nobody else's, and comes back in order. */
static void numbers_go_round(void **state)
{
	struct file_numbers *f;
	uint32_t object;

	(void)state;
	assert_int_equal(file_numbers_new(5, &f), 0);
	assert_int_equal(file_numbers_of(f, 1000000), 0);
	for (uint32_t i = 1; i <= 4; i++) {
		assert_false(file_numbers_are_all_taken(f));
		assert_int_equal(file_numbers_give(f, 1000 * i), i);
	}
	assert_int_equal(file_numbers_give(f, 3000), 3);
	assert_int_equal(file_numbers_give(f, 5000), 0);
	assert_true(file_numbers_are_all_taken(f));
	file_numbers_end(f, 3);
	assert_int_equal(file_numbers_of(f, 3000), 0);
	assert_true(file_numbers_object(f, 3, &object) && object == 3000);
	assert_int_equal(file_numbers_give(f, 3000), 0); /* it is not free yet */
	file_numbers_end(f, 1);
	file_numbers_give_back(f, 3);
	file_numbers_give_back(f, 1);
	assert_int_equal(file_numbers_taken(f), 2);
	assert_false(file_numbers_object(f, 3, &object));
	assert_int_equal(file_numbers_give(f, 5000), 3);
	assert_int_equal(file_numbers_give(f, 3000), 1);
	assert_true(file_numbers_object(f, 1, &object) && object == 3000);
	assert_int_equal(file_numbers_of(f, 1000), 0);
	assert_false(file_numbers_object(f, 0, &object) || file_numbers_object(f, 5, &object));
	file_numbers_free(f);
}

/* An object that has got another number in the meantime keeps that. */
static void an_old_number_goes_alone(void **state)
{
	struct file_numbers *f;

	(void)state;
	assert_int_equal(file_numbers_new(5, &f), 0);
	assert_int_equal(file_numbers_give(f, 7), 1);
	file_numbers_end(f, 1);
	assert_int_equal(file_numbers_give(f, 7), 2);
	file_numbers_give_back(f, 1);
	assert_int_equal(file_numbers_of(f, 7), 2);
	file_numbers_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(an_eighth_is_left),
					   cmocka_unit_test(numbers_go_round),
					   cmocka_unit_test(an_old_number_goes_alone)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
