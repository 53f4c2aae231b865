/* SPDX-License-Identifier: MIT */
/*
 * Room in the kernel half's arrays: daemon/tables/extents.c against a map of every single element,
 * which knows what first fit is without being clever about it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "daemon/tables/extents.h"
#include "base/hash.h"

#define SIZE   512
#define ROUNDS 40000

/* The owner of each element; 0: nobody. */
struct model {
	uint16_t owner[SIZE];
};

/* First fit, element by element. SIZE: there is none. */
static uint32_t model_first_fit(const struct model *m, uint32_t count)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < SIZE; i++) {
		run = m->owner[i] ? 0 : run + 1;
		if (run == count)
			return i + 1 - count;
	}
	return SIZE;
}

static uint32_t model_used(const struct model *m)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < SIZE; i++)
		used += m->owner[i] != 0;
	return used;
}

static void model_set(struct model *m, uint32_t first, uint32_t count, uint16_t owner)
{
	for (uint32_t i = first; i < first + count; i++)
		m->owner[i] = owner;
}

/* --- by hand --------------------------------------------------------------------------------- */

static void test_room_is_taken_from_the_start(void **state)
{
	struct extents *e = NULL;
	uint32_t first = 4711;

	(void)state;
	assert_int_equal(extents_new(10, &e), 0);
	assert_int_equal(extents_used(e), 0);
	assert_int_equal(extents_take(e, 4, 1, &first), 0);
	assert_int_equal(first, 0);
	assert_int_equal(extents_take(e, 6, 1, &first), 0);
	assert_int_equal(first, 4);
	assert_int_equal(extents_used(e), 10);
	first = 4711;
	assert_int_equal(extents_take(e, 1, 1, &first), -ENOSPC);
	assert_int_equal(extents_take(e, 11, 1, &first), -E2BIG);
	assert_int_equal(first, 4711);
	assert_int_equal(extents_used(e), 10);
	extents_free(e);
	extents_free(NULL);
}

static void test_first_fitting_hole_is_filled(void **state)
{
	struct extents *e = NULL;
	uint32_t first;

	(void)state;
	assert_int_equal(extents_new(100, &e), 0);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(extents_take(e, 10, 1, &first), 0);
	extents_give(e, 20);
	extents_give(e, 50);
	extents_give(e, 60);
	assert_int_equal(extents_used(e), 70);
	assert_int_equal(extents_take(e, 21, 1, &first), -ENOSPC);
	assert_int_equal(extents_take(e, 11, 1, &first), 0);
	assert_int_equal(first, 50);
	assert_int_equal(extents_take(e, 10, 1, &first), 0);
	assert_int_equal(first, 20);
	assert_int_equal(extents_take(e, 9, 1, &first), 0);
	assert_int_equal(first, 61);
	assert_int_equal(extents_used(e), 100);
	extents_free(e);
}

static void test_free_of_unused_range_is_ignored(void **state)
{
	struct extents *e = NULL;
	uint32_t first;

	(void)state;
	assert_int_equal(extents_new(10, &e), 0);
	extents_give(e, 0);
	assert_int_equal(extents_take(e, 5, 1, &first), 0);
	extents_give(e, 3); /* inside of one */
	extents_give(e, 5);
	assert_int_equal(extents_used(e), 5);
	extents_give(e, 0);
	extents_give(e, 0);
	assert_int_equal(extents_used(e), 0);
	extents_free(e);
}

/* Sums of first and count must not wrap. */
static void test_the_largest_arrays_do_not_overflow(void **state)
{
	struct extents *e = NULL;
	uint32_t first;

	(void)state;
	assert_int_equal(extents_new(UINT32_MAX, &e), 0);
	assert_int_equal(extents_take(e, UINT32_MAX - 1, 1, &first), 0);
	assert_int_equal(first, 0);
	assert_int_equal(extents_take(e, UINT32_MAX, 1, &first), -ENOSPC);
	assert_int_equal(extents_take(e, 2, 1, &first), -ENOSPC);
	assert_int_equal(extents_take(e, 1, 1, &first), 0);
	assert_int_equal(first, UINT32_MAX - 1);
	assert_int_equal(extents_used(e), UINT32_MAX);
	extents_give(e, 0);
	assert_int_equal(extents_take(e, UINT32_MAX, 1, &first), -ENOSPC);
	assert_int_equal(extents_take(e, UINT32_MAX - 1, 1, &first), 0);
	assert_int_equal(first, 0);
	extents_free(e);
}

/* --- at random ------------------------------------------------------------------------------- */

struct held {
	uint32_t first[SIZE], count[SIZE];
	uint32_t n;
};

static void take_one(struct extents *e, struct model *m, struct held *held, uint64_t random)
{
	uint32_t count = 1 + (uint32_t)(random >> 8) % (random & 64 ? 64 : 6);
	uint32_t first = SIZE, expected = model_first_fit(m, count);

	assert_int_equal(extents_take(e, count, 1, &first), expected == SIZE ? -ENOSPC : 0);
	assert_int_equal(first, expected);
	if (expected == SIZE)
		return;
	model_set(m, first, count, 1);
	held->first[held->n] = first;
	held->count[held->n++] = count;
}

static void give_one(struct extents *e, struct model *m, struct held *held, uint64_t random)
{
	uint32_t i;

	if (!held->n)
		return;
	i = (uint32_t)(random >> 8) % held->n;
	extents_give(e, held->first[i]);
	model_set(m, held->first[i], held->count[i], 0);
	held->first[i] = held->first[--held->n];
	held->count[i] = held->count[held->n];
}

static void test_random_takes_and_gives(void **state)
{
	static struct model model;
	static struct held held;
	struct extents *e = NULL;
	uint32_t fullest = 0;

	(void)state;
	assert_int_equal(extents_new(SIZE, &e), 0);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		uint64_t random = hash_mix64(i);

		/* Phases that fill and phases that drain. */
		if (random % 8 < (i / 500 % 2 ? 3 : 5))
			take_one(e, &model, &held, random);
		else
			give_one(e, &model, &held, random);
		assert_int_equal(extents_used(e), model_used(&model));
		fullest = extents_used(e) > fullest ? extents_used(e) : fullest;
	}
	assert_true(fullest > SIZE * 9 / 10);
	while (held.n)
		give_one(e, &model, &held, held.n);
	assert_int_equal(extents_used(e), 0);
	extents_free(e);
}

/* --- where room costs the least -------------------------------------------------------------- */

static uint64_t cost_of(const void *costs, uint32_t owner)
{
	return ((const uint64_t *)costs)[owner];
}

static void check_cheapest(const struct extents *e, const uint64_t *costs, uint32_t count,
			   uint32_t first, uint64_t cost)
{
	uint32_t at = SIZE;
	uint64_t least = 0;

	assert_int_equal(extents_cheapest(e, count, cost_of, costs, &at, &least), 0);
	assert_int_equal(at, first);
	assert_int_equal(least, cost);
}

static void test_the_cheapest_place(void **state)
{
	const uint64_t costs[] = {0, 5, 1, 7, 2, 9};
	const uint32_t counts[] = {0, 10, 20, 10, 30, 20};
	struct extents *e = NULL;
	uint32_t first = 4711;
	uint64_t cost = 4711;

	(void)state;
	assert_int_equal(extents_new(100, &e), 0);
	check_cheapest(e, costs, 100, 0, 0);
	for (uint32_t owner = 1; owner <= 5; owner++)
		assert_int_equal(extents_take(e, counts[owner], owner, &first), 0);
	check_cheapest(e, costs, 20, 10, 1);
	check_cheapest(e, costs, 21, 40, 2);
	check_cheapest(e, costs, 31, 30, 7 + 2);
	extents_give(e, 30); /* 3 */
	check_cheapest(e, costs, 10, 30, 0);
	check_cheapest(e, costs, 40, 30, 2);
	check_cheapest(e, costs, 100, 0, 5 + 1 + 2 + 9);
	assert_int_equal(extents_cheapest(e, 101, cost_of, costs, &first, &cost), -E2BIG);
	assert_int_equal(cost, 4711);
	assert_int_equal(extents_owner_within(e, 29, 40), 2);
	assert_int_equal(extents_owner_within(e, 30, 10), 0);
	assert_int_equal(extents_owner_within(e, 30, 11), 4);
	extents_free(e);
}

/* Against every place, at random. */
static void test_no_place_is_cheaper(void **state)
{
	static uint64_t costs[SIZE + 1];
	static uint16_t owners[SIZE];

	(void)state;
	for (uint64_t round = 1; round <= 300; round++) {
		uint32_t first, count, n = 1;
		uint64_t least, best = UINT64_MAX;
		struct extents *e = NULL;

		assert_int_equal(extents_new(SIZE, &e), 0);
		memset(owners, 0, sizeof(owners));
		for (; n < SIZE; n++) {
			count = 1 + (uint32_t)(hash_mix64(round * 999 + n) % 40);
			costs[n] = hash_mix64(round * 777 + n) % 50;
			if (extents_take(e, count, n, &first))
				break;
			for (uint32_t i = 0; i < count; i++)
				owners[first + i] = (uint16_t)n;
			if (hash_mix64(round * 555 + n) % 3 == 0) {
				extents_give(e, first);
				memset(owners + first, 0, count * sizeof(*owners));
			}
		}
		count = 1 + (uint32_t)(hash_mix64(round) % SIZE);
		for (uint32_t at = 0; at + count <= SIZE; at++) {
			uint64_t sum = 0;

			for (uint32_t i = at; i < at + count; i++)
				if (owners[i] && (i == at || owners[i] != owners[i - 1]))
					sum += costs[owners[i]];
			best = sum < best ? sum : best;
		}
		assert_int_equal(extents_cheapest(e, count, cost_of, costs, &first, &least), 0);
		assert_int_equal(least, best);
		assert_true(first + count <= SIZE);
		extents_free(e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_is_taken_from_the_start),
		cmocka_unit_test(test_first_fitting_hole_is_filled),
		cmocka_unit_test(test_free_of_unused_range_is_ignored),
		cmocka_unit_test(test_the_largest_arrays_do_not_overflow),
		cmocka_unit_test(test_random_takes_and_gives),
		cmocka_unit_test(test_the_cheapest_place),
		cmocka_unit_test(test_no_place_is_cheaper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
