/* SPDX-License-Identifier: MIT */
/* Lists of rows in words: rows that are added are read back, near and far; redundant ones are not
 * kept. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "unwind/recipe_rows.h"
#include "stackd_abi.h"

static void assert_next(struct recipe_rows_reader *reader, uint32_t offset, uint16_t rule)
{
	struct recipe_row row;

	assert_true(recipe_rows_next(reader, &row));
	assert_int_equal(row.offset, offset);
	assert_int_equal(row.rule, rule);
}

static void assert_end(struct recipe_rows_reader *reader)
{
	struct recipe_row row;

	assert_false(recipe_rows_next(reader, &row));
	assert_false(recipe_rows_next(reader, &row));
}

static void test_distances(void **state)
{
	static const uint32_t offsets[] = {0, 1, 0xffff, 0x1fffd, 0x1fffe, 0x2fffe, 0xfffffffe};
	struct recipe_rows rows = {0};
	struct recipe_rows_reader reader;

	(void)state;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		assert_int_equal(recipe_rows_add(&rows, offsets[i], (uint16_t)(0xffff - i)), 0);
	reader = recipe_rows_read(&rows);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		assert_next(&reader, offsets[i], (uint16_t)(0xffff - i));
	assert_end(&reader);
	recipe_rows_free(&rows);
}

static void test_redundant_rows(void **state)
{
	struct recipe_rows rows = {0};
	struct recipe_rows_reader reader;

	(void)state;
	assert_true(recipe_rows_is_empty(&rows));
	recipe_rows_add(&rows, 10, 4);
	recipe_rows_add(&rows, 20, 4); /* the same rule */
	recipe_rows_add(&rows, 30, 5);
	recipe_rows_add(&rows, 30, 6); /* replaces it */
	recipe_rows_add(&rows, 40, 7);
	recipe_rows_add(&rows, 40, 6); /* takes it back */
	assert_int_equal(recipe_rows_last(&rows).offset, 30);
	recipe_rows_add(&rows, 50, 8);
	assert_int_equal(recipe_rows_last(&rows).offset, 50);
	reader = recipe_rows_read(&rows);
	assert_next(&reader, 10, 4);
	assert_next(&reader, 30, 6);
	assert_next(&reader, 50, 8);
	assert_end(&reader);
	recipe_rows_free(&rows);
}

/* Rows of several FDEs as recipe_section.c keeps them: each list counts from an offset of its own.
 */
static void test_parts(void **state)
{
	struct recipe_rows rows = {0};
	struct recipe_rows_reader reader;
	size_t second;

	(void)state;
	rows.last.offset = 0x500000;
	recipe_rows_put(&rows, 0x500000, 1);
	recipe_rows_put(&rows, 0x600000, 2);
	second = rows.count;
	rows.last.offset = 0x1000;
	recipe_rows_put(&rows, 0x1000, 3);
	recipe_rows_put(&rows, 0x1001, 3);
	reader = recipe_rows_read_part(&rows, second, rows.count - second, 0x1000);
	assert_next(&reader, 0x1000, 3);
	assert_next(&reader, 0x1001, 3);
	assert_end(&reader);
	reader = recipe_rows_read_part(&rows, 0, second, 0x500000);
	assert_next(&reader, 0x500000, 1);
	assert_next(&reader, 0x600000, 2);
	assert_end(&reader);
	recipe_rows_free(&rows);
}

/* Four bytes each, at most half as much again while the list grows. */
static void test_size(void **state)
{
	struct recipe_rows rows = {0};
	const uint32_t count = 1000000;

	(void)state;
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(recipe_rows_add(&rows, i * 13, (uint16_t)(3 + i % 1000)), 0);
	assert_true(rows.count <= count);
	assert_true(rows.cap <= count + count / 2 + 16);
	recipe_rows_free(&rows);
}

static uint16_t rule_at(const struct recipe_rows *rows, uint32_t offset)
{
	struct recipe_rows_reader reader = recipe_rows_read(rows);
	struct recipe_row row;
	uint16_t rule = STACKD_RULE_NONE;

	while (recipe_rows_next(&reader, &row) && row.offset <= offset)
		rule = row.rule;
	return rule;
}

static void put_random(struct recipe_rows *rows, uint64_t seed)
{
	uint32_t offset = 0;

	for (uint64_t i = 0; i < 200; i++) {
		uint64_t random = hash_mix64(seed * 1000 + i);

		offset += 1 + random % 40;
		recipe_rows_add(rows, offset,
				random >> 32 & 1 ? STACKD_RULE_NONE
						 : (uint16_t)(3 + (random >> 40) % 5));
	}
}

static void test_overlay(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct recipe_rows upper = {0}, lower = {0}, both = {0};

		put_random(&upper, seed);
		put_random(&both, seed);
		put_random(&lower, seed + 100);
		assert_int_equal(recipe_rows_overlay(&both, &lower), 0);
		for (uint32_t offset = 0; offset < 9000; offset += 7) {
			uint16_t rule = rule_at(&upper, offset);

			assert_int_equal(rule_at(&both, offset),
					 rule == STACKD_RULE_NONE ? rule_at(&lower, offset) : rule);
		}
		recipe_rows_free(&upper);
		recipe_rows_free(&lower);
		recipe_rows_free(&both);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distances), cmocka_unit_test(test_redundant_rows),
		cmocka_unit_test(test_parts),	  cmocka_unit_test(test_size),
		cmocka_unit_test(test_overlay),
	};

	return cmocka_run_group_tests_name("recipe_rows", tests, NULL, NULL);
}
