/* SPDX-License-Identifier: MIT */
/* The map of integers: against a plain array, with keys that differ in each of their parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/int_map.h"

#define KEYS 5000u

static void int_map_empty(void **state)
{
	struct int_map map = {0};

	(void)state;
	assert_int_equal(int_map_find(&map, 0), INT_MAP_NONE);
	int_map_clear(&map);
	int_map_fini(&map);
	int_map_fini(&map);
}

static void int_map_enters_once(void **state)
{
	struct int_map map = {0};
	uint32_t value;

	(void)state;
	assert_int_equal(int_map_enter(&map, 7, 1, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(int_map_enter(&map, 7, 2, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(int_map_set(&map, 7, 3), 0);
	assert_int_equal(int_map_find(&map, 7), 3);
	assert_int_equal(int_map_set(&map, 8, 4), 0);
	assert_int_equal(map.used, 2);
	int_map_clear(&map);
	assert_int_equal(int_map_find(&map, 7), INT_MAP_NONE);
	assert_int_equal(map.used, 0);
	int_map_fini(&map);
}

/* All three parts of a key count. */
static void int_map_wide_keys(void **state)
{
	struct int_map map = {0};
	uint32_t value;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		uint64_t key = (uint64_t)(i & 1) << 32 | (i >> 1 & 1);

		assert_int_equal(int_map_enter_wide(&map, key, i >> 2, i, &value), 0);
		assert_int_equal(value, i);
	}
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(
			int_map_find_wide(&map, (uint64_t)(i & 1) << 32 | (i >> 1 & 1), i >> 2), i);
	assert_int_equal(int_map_find(&map, 1), 2);
	assert_int_equal(int_map_find_wide(&map, 1, 2), INT_MAP_NONE);
	int_map_fini(&map);
}

/* Growing loses no key, and finds none that was not entered. */
static void int_map_many_keys(void **state)
{
	struct int_map map = {0};

	(void)state;
	for (uint32_t i = 0; i < KEYS; i++) {
		uint32_t value;

		assert_int_equal(
			int_map_enter_wide(&map, i % 2 ? i : hash_mix64(i), i % 3, i, &value), 0);
		assert_int_equal(value, i);
	}
	assert_int_equal(map.used, KEYS);
	assert_true(map.used * 3 <= map.slots * 2);
	for (uint32_t i = 0; i < KEYS; i++) {
		uint64_t key = i % 2 ? i : hash_mix64(i);

		assert_int_equal(int_map_find_wide(&map, key, i % 3), i);
		assert_int_equal(int_map_find_wide(&map, key, i % 3 + 1), INT_MAP_NONE);
	}
	int_map_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(int_map_empty),
		cmocka_unit_test(int_map_enters_once),
		cmocka_unit_test(int_map_wide_keys),
		cmocka_unit_test(int_map_many_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
