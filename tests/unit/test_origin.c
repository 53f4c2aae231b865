/* SPDX-License-Identifier: MIT */
/* Origins: what is inferred, and interning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <errno.h>

#include <cmocka.h>

#include "stack/origin.h"

#define RUNS(...)                                                                                  \
	(const struct origin_run[])                                                                \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static uint32_t origin_enter(struct origin_table *t, const struct origin_run *runs, uint32_t n,
			     bool is_complete)
{
	struct origin origin = {.is_complete = is_complete, .n_runs = n, .runs = runs};
	uint32_t number = UINT32_MAX;

	assert_int_equal(origin_intern(t, &origin, &number), 0);
	return number;
}

static void origin_inferred_is_the_root_part(void **state)
{
	const struct origin_run runs[] = {{3, FRAME_SOURCE_ALIGNED, 90},
					  {4, FRAME_SOURCE_BRANCH, 100},
					  {2, FRAME_SOURCE_STITCHED, 70},
					  {5, FRAME_SOURCE_BRANCH, 100}};
	struct origin origin = {.n_runs = 4, .runs = runs};

	(void)state;
	assert_int_equal(origin_inferred(&origin), 9);
	origin.n_runs = 2;
	assert_int_equal(origin_inferred(&origin), 3);
	origin.n_runs = 0;
	assert_int_equal(origin_inferred(&origin), 0);
	origin.n_runs = 4;
	assert_int_equal(origin_run_of(&origin, 0).source, FRAME_SOURCE_ALIGNED);
	assert_int_equal(origin_run_of(&origin, 2).confidence, 90);
	assert_int_equal(origin_run_of(&origin, 3).source, FRAME_SOURCE_BRANCH);
	assert_int_equal(origin_run_of(&origin, 13).source, FRAME_SOURCE_BRANCH);
	assert_int_equal(origin_run_of(&origin, 14).source, FRAME_SOURCE_WALKED);
	assert_int_equal(origin_run_of(&origin, 14).confidence, 100);
}

static void origin_equal_ones_are_one(void **state)
{
	struct origin_table *t;
	uint32_t a, b;

	(void)state;
	assert_int_equal(origin_table_new(&t), 0);
	assert_int_equal(origin_count(t), 1);
	assert_int_equal(origin_at(t, ORIGIN_WALKED).n_runs, 0);
	assert_int_equal(origin_enter(t, NULL, 0, false), ORIGIN_WALKED);
	assert_int_equal(origin_enter(t, RUNS({7, FRAME_SOURCE_WALKED, 100}), 1, false),
			 ORIGIN_WALKED);
	a = origin_enter(t, RUNS({3, FRAME_SOURCE_ALIGNED, 99}), 1, true);
	assert_int_equal(a, 1);
	b = origin_enter(t,
			 RUNS({1, FRAME_SOURCE_ALIGNED, 99}, {2, FRAME_SOURCE_ALIGNED, 99},
			      {4, FRAME_SOURCE_WALKED, 100}),
			 3, true);
	assert_int_equal(b, a);
	assert_int_not_equal(origin_enter(t, RUNS({3, FRAME_SOURCE_ALIGNED, 99}), 1, false), a);
	assert_int_not_equal(origin_enter(t, RUNS({3, FRAME_SOURCE_ALIGNED, 98}), 1, true), a);
	assert_int_not_equal(origin_enter(t, RUNS({3, FRAME_SOURCE_STITCHED, 99}), 1, true), a);
	assert_int_equal(origin_at(t, a).n_runs, 1);
	assert_int_equal(origin_at(t, a).runs[0].frames, 3);
	assert_true(origin_at(t, a).is_complete);
	origin_table_free(t);
	origin_table_free(NULL);
}

static void origin_many(void **state)
{
	struct origin_table *t;

	(void)state;
	assert_int_equal(origin_table_new(&t), 0);
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 3000; i++)
			assert_int_equal(origin_enter(t,
						      RUNS({i, FRAME_SOURCE_ALIGNED, 100},
							   {i % 7 + 1, FRAME_SOURCE_BRANCH, 100}),
						      2, false),
					 i);
	assert_int_equal(origin_count(t), 3001);
	for (uint32_t i = 1; i <= 3000; i++)
		assert_int_equal(origin_at(t, i).runs[0].frames, i);
	origin_table_free(t);
}

static void origin_refuses(void **state)
{
	struct origin bad[] = {
		{.n_runs = 1, .runs = RUNS({0, FRAME_SOURCE_ALIGNED, 100})},
		{.n_runs = 1, .runs = RUNS({1, FRAME_SOURCE_COUNT, 100})},
		{.n_runs = 1, .runs = RUNS({1, FRAME_SOURCE_ALIGNED, 101})},
		{.n_runs = ORIGIN_MAX_RUNS + 1},
	};
	struct origin_table *t;
	uint32_t number = 4711;

	(void)state;
	assert_int_equal(origin_table_new(&t), 0);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(origin_intern(t, &bad[i], &number), -EINVAL);
	assert_int_equal(number, 4711);
	assert_int_equal(origin_count(t), 1);
	origin_table_free(t);
}

static void origin_names(void **state)
{
	(void)state;
	assert_string_equal(frame_source_name(FRAME_SOURCE_ALIGNED), "aligned");
	assert_string_equal(frame_source_name(FRAME_SOURCE_COUNT), "unknown");
	assert_true(frame_source_is_observed(FRAME_SOURCE_BRANCH));
	assert_false(frame_source_is_observed(FRAME_SOURCE_STITCHED));
	assert_false(frame_source_is_observed(200));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(origin_inferred_is_the_root_part),
		cmocka_unit_test(origin_equal_ones_are_one),
		cmocka_unit_test(origin_many),
		cmocka_unit_test(origin_refuses),
		cmocka_unit_test(origin_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
