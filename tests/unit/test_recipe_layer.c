/* SPDX-License-Identifier: MIT */
/* Layers of rules over and under call frame information: which rules hold, and their provenance. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/hash.h"
#include "unwind/recipe_layer.h"

#define SPAN 9000u /* offsets that have rows */

static uint16_t rule_at(const struct recipe_rows *rows, uint32_t offset)
{
	struct recipe_rows_reader reader = recipe_rows_read(rows);
	struct recipe_row row;
	uint16_t rule = STACKD_RULE_NONE;

	while (recipe_rows_next(&reader, &row) && row.offset <= offset)
		rule = row.rule;
	return rule;
}

/* Rows with rules first .. first + 4 and gaps, up to an end. */
static struct recipe_rows random_rows(uint64_t seed, uint16_t first)
{
	struct recipe_rows rows = {0};
	uint32_t offset = 0;

	for (uint64_t i = 0; i < 200; i++) {
		uint64_t random = hash_mix64(seed * 1000 + i);

		offset += 1 + random % 40;
		recipe_rows_add(&rows, offset,
				random >> 32 & 1 ? STACKD_RULE_NONE
						 : (uint16_t)(first + (random >> 40) % 5));
	}
	recipe_rows_add(&rows, offset + 1, STACKD_RULE_NONE);
	return rows;
}

/* Each list has rules of its own. */
static enum provenance expected(uint16_t rule)
{
	return rule >= 30   ? PROVENANCE_ANALYSED
	       : rule >= 20 ? PROVENANCE_RUNTIME_TABLE
	       : rule >= 10 ? PROVENANCE_FRAME_POINTER
			    : PROVENANCE_CFI;
}

static void check_layers(uint64_t seed)
{
	struct recipe_table table = {0};
	struct recipe_rows cfi = random_rows(seed, 3), rows = random_rows(seed, 3);
	struct recipe_rows above = random_rows(seed + 100, 10);
	struct recipe_rows below = random_rows(seed + 200, 20);
	struct recipe_rows last = random_rows(seed + 300, 30);
	struct recipe_rows upper = random_rows(seed + 100, 10);

	assert_int_equal(recipe_rules_new(&table.rules), 0);
	assert_int_equal(recipe_layer_above(&table, &rows, &above, PROVENANCE_FRAME_POINTER), 0);
	assert_true(recipe_rows_is_empty(&above));
	assert_int_equal(recipe_layer_below(&table, &rows, &below, PROVENANCE_RUNTIME_TABLE), 0);
	assert_int_equal(recipe_layer_below(&table, &rows, &last, PROVENANCE_ANALYSED), 0);
	assert_int_equal(recipe_table_build(&table, &rows), 0);
	for (uint32_t at = 0; at < SPAN; at++) {
		const struct recipe_rows *const order[] = {&upper, &cfi, &below, &last};
		uint16_t rule = STACKD_RULE_NONE;

		for (int i = 0; i < 4 && rule == STACKD_RULE_NONE; i++)
			rule = rule_at(order[i], at);
		assert_int_equal(rule_at(&rows, at), rule);
		if (rule != STACKD_RULE_NONE)
			assert_int_equal(provenance_map_at(table.map, at), expected(rule));
	}
	recipe_rows_free(&cfi);
	recipe_rows_free(&rows);
	recipe_rows_free(&below);
	recipe_rows_free(&last);
	recipe_rows_free(&upper);
	provenance_map_free(recipe_table_take_provenance(&table));
	recipe_rules_free(table.rules);
	free(table.rows);
	free(table.chunks);
}

static void test_layers(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++)
		check_layers(seed);
}

/* A file of call frame information alone needs no map; one of a runtime's table one range. */
static void test_usual_files(void **state)
{
	struct recipe_table table = {0};
	struct recipe_rows cfi = random_rows(1, 3), go = random_rows(2, 20), nothing = {0};
	struct provenance_map *map;

	(void)state;
	assert_int_equal(provenance_map_new(&nothing, &map), 0);
	assert_null(map);
	assert_int_equal(provenance_map_at(map, 4711), PROVENANCE_CFI);
	assert_int_equal(recipe_layer_below(&table, &nothing, &go, PROVENANCE_RUNTIME_TABLE), 0);
	assert_int_equal(recipe_rules_new(&table.rules), 0);
	assert_int_equal(recipe_table_build(&table, &nothing), 0);
	map = recipe_table_take_provenance(&table);
	assert_int_equal(provenance_map_count(map), 1);
	assert_int_equal(provenance_map_at(map, 1u << 31), PROVENANCE_RUNTIME_TABLE);
	provenance_map_free(map);
	recipe_rules_free(table.rules);
	free(table.rows);
	free(table.chunks);
	recipe_rows_free(&cfi);
	recipe_rows_free(&go);
	recipe_rows_free(&nothing);
}

/* Beyond the limit all counts as weak. */
static void test_too_many_ranges(void **state)
{
	struct recipe_rows rows = {0};
	struct provenance_map *map;

	(void)state;
	for (uint32_t i = 0; i < 2 * PROVENANCE_MAP_MAX; i++)
		recipe_rows_add(&rows, i * 16, i % 2 ? PROVENANCE_NONE : PROVENANCE_ANALYSED);
	assert_int_equal(provenance_map_new(&rows, &map), 0);
	assert_true(provenance_map_count(map) <= PROVENANCE_MAP_MAX);
	assert_int_equal(provenance_map_at(map, 0), PROVENANCE_ANALYSED);
	assert_int_equal(provenance_map_at(map, 16), PROVENANCE_CFI);
	assert_int_equal(provenance_map_at(map, PROVENANCE_MAP_MAX * 16), PROVENANCE_ANALYSED);
	assert_int_equal(provenance_map_at(map, PROVENANCE_MAP_MAX * 16 + 16), PROVENANCE_ANALYSED);
	provenance_map_free(map);
	recipe_rows_free(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_usual_files),
		cmocka_unit_test(test_too_many_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
