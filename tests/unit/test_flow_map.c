/* SPDX-License-Identifier: MIT */
/* Items of bytes that are numbered and of those beyond, and the limit of these. */
#include "analysis/flow_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
/* cmocka needs those above. */
#include <cmocka.h>

#define SIZE   300000u
#define MARK   4
#define BEYOND (SIZE / 32 + 65536) /* items that are made of bytes that are not numbered */

static uint8_t *marks_of(void)
{
	uint8_t *marks = calloc(SIZE, 1);

	assert_non_null(marks);
	for (uint32_t at = 0; at < SIZE; at++)
		marks[at] = at % 5 == 3 || at % 64 == 63 ? MARK : MARK << 1;
	return marks;
}

static void test_items(void **state)
{
	uint8_t *marks = marks_of();
	struct flow_map map;

	(void)state;
	assert_int_equal(flow_map_init(&map, marks, MARK, SIZE), 0);
	for (uint32_t at = 0; at < SIZE; at++) {
		struct flow_item *item = flow_map_find(&map, at);

		assert_int_equal(item != NULL, marks[at] == MARK);
		if (!item && at % 7 == 0)
			item = flow_map_enter(&map, at);
		if (item)
			*item = (struct flow_item){
				.state = at % (1u << 18) + 1, .visits = at & 255, .owner = at};
	}
	for (uint32_t at = 0; at < SIZE; at++) {
		struct flow_item item = flow_map_get(&map, at);
		bool has = marks[at] == MARK || at % 7 == 0;

		assert_int_equal(item.owner, has ? at : 0);
		assert_int_equal(item.visits, has ? at & 255 : 0);
		assert_int_equal(item.state, has ? at % (1u << 18) + 1 : 0);
	}
	assert_null(flow_map_find(&map, SIZE));
	assert_null(flow_map_enter(&map, SIZE));
	assert_false(map.is_full);
	flow_map_fini(&map);
	free(marks);
}

static void test_is_full(void **state)
{
	uint8_t *marks = marks_of();
	struct flow_map map;
	uint32_t entered = 0;

	(void)state;
	assert_int_equal(flow_map_init(&map, marks, MARK, SIZE), 0);
	for (uint32_t at = 0; at < SIZE; at++)
		entered += marks[at] != MARK && flow_map_enter(&map, at);
	assert_int_equal(entered, BEYOND);
	assert_true(map.is_full);
	assert_non_null(flow_map_enter(&map, 3)); /* which it has */
	flow_map_fini(&map);
	free(marks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
