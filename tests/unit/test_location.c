/* SPDX-License-Identifier: MIT */
/* The location table: numbering, identity, ids, and growth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stack/location.h"

static void location_numbers_are_dense(void **state)
{
	struct location_table *t;
	struct location a = {.file_id = 7, .offset = 0x1000, .object = 3};
	struct location b = {.file_id = 7, .offset = 0x1001, .object = 3, .is_return = true};
	struct location same_place_other_object = {.file_id = 7, .offset = 0x1000, .object = 4};
	struct location other_file = {.file_id = 8, .offset = 0x1000, .object = 5};
	uint32_t n = 99;

	(void)state;
	assert_int_equal(location_table_new(&t), 0);
	assert_int_equal(location_count(t), 0);
	assert_int_equal(location_intern(t, &a, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(location_intern(t, &b, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(location_intern(t, &same_place_other_object, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(location_intern(t, &other_file, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(location_count(t), 3);
	assert_int_equal(location_at(t, 0)->object, 3);
	assert_true(location_at(t, 1)->is_return);
	assert_int_equal(location_at(t, 2)->file_id, 8);
	location_table_free(t);
	location_table_free(NULL);
}

/* Files whose ids meet: hash_mix64(f1) + o1 == hash_mix64(f2) + o2 gives one id for two locations.
 */
static void location_same_id_stays_two(void **state)
{
	struct location_table *t;
	struct location a = {.file_id = 1, .offset = 1000};
	struct location b = {.file_id = 2};
	uint32_t n;

	(void)state;
	b.offset = hash_mix64(1) + 1000 - hash_mix64(2);
	assert_int_equal(location_id(a.file_id, a.offset), location_id(b.file_id, b.offset));
	assert_int_equal(location_table_new(&t), 0);
	assert_int_equal(location_intern(t, &a, &n), 0);
	assert_int_equal(location_intern(t, &b, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(location_intern(t, &a, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(location_intern(t, &b, &n), 0);
	assert_int_equal(n, 1);
	location_table_free(t);
}

static void location_survives_growth(void **state)
{
	enum { COUNT = 100000 };
	struct location_table *t;
	uint32_t n;

	(void)state;
	assert_int_equal(location_table_new(&t), 0);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < COUNT; i++) {
			struct location l = {.file_id = i % 13, .offset = i / 13 * 16, .object = i};

			assert_int_equal(location_intern(t, &l, &n), 0);
			assert_int_equal(n, i);
		}
	}
	assert_int_equal(location_count(t), COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(location_at(t, i)->object, i);
	location_table_free(t);
}

/* The ids are part of the recording format: these values may never change. */
static void location_id_is_fixed(void **state)
{
	(void)state;
	assert_true(location_id(0, 0) == 0);
	assert_true(location_id(0, 1) == hash_mix64(1));
	assert_true(location_id(UINT64_C(0x0123456789abcdef), 0x1234) ==
		    UINT64_C(0x75bb7451baf9f364));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(location_numbers_are_dense),
		cmocka_unit_test(location_same_id_stays_two),
		cmocka_unit_test(location_survives_growth),
		cmocka_unit_test(location_id_is_fixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
