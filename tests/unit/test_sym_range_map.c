/* SPDX-License-Identifier: MIT */
/* range_map: worked cases, and random ranges against a search through all of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "sym/range_map.h"

static void expect(const struct range_map *map, uint64_t address, int value)
{
	uint32_t got = 0;
	bool found = range_map_find(map, address, &got);

	assert_int_equal(found ? (int)got : -1, value);
}

static void test_nested(void **state)
{
	struct range_map map = {0};

	(void)state;
	assert_int_equal(range_map_add(&map, 40, 60, 2, 0), 0);
	assert_int_equal(range_map_add(&map, 0, 100, 0, 0), 0);
	assert_int_equal(range_map_add(&map, 20, 60, 1, 0), 0);
	assert_int_equal(range_map_add(&map, 200, 300, 3, 0), 0);
	assert_int_equal(range_map_seal(&map), 0);
	expect(&map, 0, 0);
	expect(&map, 19, 0);
	expect(&map, 20, 1);
	expect(&map, 40, 2);
	expect(&map, 59, 2);
	expect(&map, 60, 0);
	expect(&map, 100, -1);
	expect(&map, 200, 3);
	expect(&map, 300, -1);
	expect(&map, UINT64_MAX, -1);
	range_map_free(&map);
}

static void test_ranks_and_overlap(void **state)
{
	struct range_map map = {0};

	(void)state;
	range_map_add(&map, 10, 20, 0, 9); /* the best, and shorter */
	range_map_add(&map, 10, 30, 1, 1);
	range_map_add(&map, 25, 40, 2, 0); /* overlaps */
	range_map_add(&map, 50, 50, 3, 0); /* empty */
	range_map_add(&map, 70, 60, 4, 0); /* inside out */
	range_map_add(&map, UINT64_MAX - 1, UINT64_MAX, 5, 0);
	assert_int_equal(range_map_seal(&map), 0);
	expect(&map, 9, -1);
	expect(&map, 15, 0);
	expect(&map, 20, 1);
	expect(&map, 25, 2);
	expect(&map, 39, 2);
	expect(&map, 50, -1);
	expect(&map, 65, -1);
	expect(&map, UINT64_MAX - 1, 5);
	expect(&map, UINT64_MAX, -1);
	range_map_free(&map);
}

static void test_empty(void **state)
{
	struct range_map map = {0};

	(void)state;
	assert_int_equal(range_map_seal(&map), 0);
	expect(&map, 0, -1);
	range_map_free(&map);
}

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

static void test_against_search(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct {
			uint32_t start, end, rank;
		} ranges[40];
		uint32_t n = random_below(&seed, 40);
		struct range_map map = {0};

		for (uint32_t i = 0; i < n; i++) {
			ranges[i].start = random_below(&seed, 100);
			ranges[i].end = ranges[i].start + random_below(&seed, 40);
			ranges[i].rank = i; /* no ties */
			range_map_add(&map, ranges[i].start, ranges[i].end, i, ranges[i].rank);
		}
		assert_int_equal(range_map_seal(&map), 0);
		for (uint32_t a = 0; a < 150; a++) {
			int best = -1;

			for (uint32_t i = 0; i < n; i++)
				if (ranges[i].start <= a && a < ranges[i].end &&
				    (best < 0 || ranges[i].start >= ranges[best].start))
					best = (int)i;
			expect(&map, a, best);
		}
		range_map_free(&map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_ranks_and_overlap),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_against_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
