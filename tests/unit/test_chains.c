/* SPDX-License-Identifier: MIT */
/* Paths that are sent as chains: what the statement's data says is exactly the paths that were
 * added, callers first. What a server makes of the statement is tested in tests/exports. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash.h"
#include "clickhouse/chains.h"

#define PATHS 3000

struct path {
	uint64_t tag, parent, location;
	bool is_seen;
};

static struct path paths[PATHS];

/* Returns the number of `width` bytes at a place of the data, as the statement has them. */
static uint64_t number_at(const char *hex, size_t at, unsigned width)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < width; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * (at + i), "%2X", &byte), 1);
		number |= (uint64_t)byte << (8 * i);
	}
	return number;
}

/* Notes a row that the server makes: it is of a path that was not seen, whose caller was. */
static void see(uint64_t tag, uint64_t parent, uint64_t location)
{
	struct path *path = NULL, *caller = NULL;

	for (size_t i = 0; i < PATHS; i++) {
		if (paths[i].tag == tag)
			path = &paths[i];
		if (paths[i].tag == parent)
			caller = &paths[i];
	}
	assert_non_null(path);
	assert_false(path->is_seen);
	assert_true(path->parent == parent && path->location == location);
	assert_true(!parent || (caller && caller->is_seen));
	path->is_seen = true;
}

/* Unrolls a statement's data as its SQL does. Returns the number of rows. */
static size_t unroll(const char *statement)
{
	const char *hex = strstr(statement, "unhex('") + 7, *from = strstr(hex, "FROM numbers(");
	const size_t n = strtoull(from + 13, NULL, 10), list = n * (8 + 2 * CHAINS_MOST);
	size_t rows = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t tag = number_at(hex, 8 * i, 8);

		for (size_t level = 0; level < CHAINS_MOST; level++) {
			const uint64_t number = number_at(hex, n * (8 + 2 * level) + 2 * i, 2);
			const uint64_t location = number_at(hex, list + 8 * number, 8);
			const uint64_t parent = tag;

			if (!location)
				continue;
			tag = hash_chain(parent, location);
			see(tag, parent, location);
			rows++;
		}
	}
	return rows;
}

/* A tree with chains longer than one, forks, and locations that recur; `seed` makes it. */
static void make_tree(unsigned seed)
{
	srand(seed);
	for (size_t i = 0; i < PATHS; i++) {
		const size_t back = rand() % 4 ? 1 : 1 + (size_t)rand() % 50;
		const uint64_t parent = i < back || rand() % 40 == 0 ? 0 : paths[i - back].tag;
		const uint64_t location = hash_mix64((uint64_t)(rand() % 3 ? i : i % 100) + 1);

		paths[i] = (struct path){hash_chain(parent, location), parent, location, false};
		for (size_t k = 0; k < i; k++)
			if (paths[k].tag == paths[i].tag) /* another one instead */
				paths[i] = (struct path){hash_chain(0, i + 1), 0, i + 1, false};
	}
}

static void test_trees(void **state)
{
	struct chains chains = {0};
	struct buf statement = {0};
	(void)state;

	for (unsigned seed = 0; seed < 5; seed++) {
		make_tree(seed);
		for (size_t i = 0; i < PATHS; i++)
			assert_int_equal(chains_add(&chains, paths[i].tag, paths[i].parent,
						    paths[i].location),
					 0);
		assert_int_equal(chains.count, PATHS);
		chains_put_insert(&chains, 20000, &statement);
		assert_false(statement.failed);
		assert_int_equal(unroll((const char *)statement.data), PATHS);
		chains_clear(&chains);
		buf_clear(&statement);
	}
	chains_free(&chains);
	buf_free(&statement);
}

/* A path whose tag is not that of its caller and location, as where two paths share one. */
static void test_others(void **state)
{
	struct chains chains = {0};
	(void)state;

	assert_int_equal(chains_add(&chains, 1234, 5, 6), -EDOM);
	assert_int_equal(chains_add(&chains, hash_chain(5, 0), 5, 0), -EDOM);
	assert_int_equal(chains.count, 0);
	chains_free(&chains);
}

static void test_full(void **state)
{
	struct chains chains = {0};
	uint64_t tag = 0;
	(void)state;

	for (uint64_t i = 1; !chains_are_full(&chains); i++) {
		assert_int_equal(chains_add(&chains, hash_chain(tag, i), tag, i), 0);
		tag = hash_chain(tag, i);
	}
	assert_int_equal(chains.locations.count, 65534); /* the last one has the last number */
	assert_int_equal(
		chains.chains.items[chains.chains.count - 1].locations[65533 % CHAINS_MOST], 65534);
	chains_clear(&chains);
	assert_false(chains_are_full(&chains));
	chains_free(&chains);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
