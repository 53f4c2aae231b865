/* SPDX-License-Identifier: MIT */
/* Which table is made next, and which gives way to others: daemon/tables/requests.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "daemon/tables/requests.h"

#define MS UINT64_C(1000000)

static struct object objects[4];

static void enter(struct request **first, int object, bool is_early, uint64_t spent_ns)
{
	const struct request r = {
		.object = &objects[object], .is_early = is_early, .spent_ns = spent_ns};

	assert_int_equal(requests_enter(first, &r), 0);
}

static void missed_before_prefetched_and_quick_before_long(void **state)
{
	static const int order[] = {1, 3, 0, 2};
	struct request *first = NULL, *r;

	(void)state;
	enter(&first, 2, true, 0);
	enter(&first, 0, false, 200 * MS);
	enter(&first, 1, false, 0);
	enter(&first, 3, false, 50 * MS);
	r = first;
	for (int i = 0; i < 4; i++, r = r->next)
		assert_ptr_equal(r->object, &objects[order[i]]);
	assert_null(r);
	requests_free(first);
}

static void a_long_one_gives_way(void **state)
{
	const struct request fresh = {.object = &objects[0]}, early = {.is_early = true};
	struct request serving = {.object = &objects[1]};

	(void)state;
	assert_false(requests_give_way(&serving, 10000 * MS, NULL));
	assert_false(requests_give_way(&serving, 99 * MS, &fresh));
	assert_true(requests_give_way(&serving, 100 * MS, &fresh));
	assert_false(requests_give_way(&serving, 10000 * MS, &early));
	assert_true(requests_give_way(&early, 0, &fresh));
	/* Of two that take long, the one that has taken less. */
	assert_false(
		requests_give_way(&serving, 500 * MS, &(struct request){.spent_ns = 300 * MS}));
	assert_true(
		requests_give_way(&serving, 1000 * MS, &(struct request){.spent_ns = 300 * MS}));
}

/* Small files come before large ones, and these before what has taken long. The first step of a
 * large file is made to its end, unless it is a prefetch. */
static void the_first_step_of_a_large_one_does_not_give_way(void **state)
{
	const struct request fresh = {.object = &objects[0]};
	const struct request large = {.object = &objects[2], .is_large = true};
	struct request serving = {.object = &objects[1], .is_large = true, .in_first = true};
	struct request *first = NULL;

	(void)state;
	assert_false(requests_give_way(&serving, 900 * MS, &fresh));
	assert_false(requests_give_way(&serving, 900 * MS, &large));
	serving.in_first = false;
	assert_true(requests_give_way(&serving, 900 * MS, &fresh));
	assert_true(requests_give_way(&serving, 900 * MS, &large));
	serving.in_first = serving.is_early = true;
	assert_true(requests_give_way(&serving, 1 * MS, &large));

	enter(&first, 1, false, 200 * MS);
	assert_int_equal(requests_enter(&first, &large), 0);
	enter(&first, 0, false, 0);
	assert_ptr_equal(first->object, &objects[0]);
	assert_ptr_equal(first->next->object, &objects[2]);
	assert_ptr_equal(first->next->next->object, &objects[1]);
	requests_free(first);
}

/* However many others come, it is made after about a second of tries. */
static void each_is_made_at_last(void **state)
{
	const struct request fresh = {.object = &objects[0]};
	struct request serving = {.object = &objects[1]};
	int tries = 0;

	(void)state;
	for (; requests_give_way(&serving, 150 * MS, &fresh); tries++)
		serving.spent_ns += 150 * MS;
	assert_in_range(tries, 6, 8);
	assert_false(requests_give_way(&serving, 100000 * MS, &fresh));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missed_before_prefetched_and_quick_before_long),
		cmocka_unit_test(a_long_one_gives_way),
		cmocka_unit_test(the_first_step_of_a_large_one_does_not_give_way),
		cmocka_unit_test(each_is_made_at_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
