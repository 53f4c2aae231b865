/* SPDX-License-Identifier: MIT */
/* When evicted tables may be made again: daemon/tables/remakes.c, on a clock of the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/tables/remakes.h"

#define SECOND UINT64_C(1000000000)
#define START  (1000 * SECOND)

static const struct room_size size = {.rows = 10, .chunks = 2};

static void test_what_was_never_made_is_not_known(void **state)
{
	struct remakes *r;
	struct room_size got = {0};

	(void)state;
	assert_int_equal(remakes_new(4, &r), 0);
	assert_false(remakes_size(r, 1, &got));
	remakes_made(r, 1, size, SECOND, false, START);
	assert_true(remakes_size(r, 1, &got));
	assert_int_equal(got.rows, 10);
	assert_int_equal(got.chunks, 2);
	assert_false(remakes_was_loaded(r, 1));
	remakes_made(r, 1, size, SECOND, true, START);
	assert_true(remakes_was_loaded(r, 1));
	remakes_made(r, 1, size, SECOND, false, START);
	assert_true(remakes_was_loaded(r, 1));
	assert_false(remakes_was_loaded(r, 2));
	remakes_free(r);
	remakes_free(NULL);
}

static void test_a_table_is_not_made_again_at_once(void **state)
{
	struct remakes *r;

	(void)state;
	assert_int_equal(remakes_new(4, &r), 0);
	remakes_made(r, 1, size, 1000, true, START);
	assert_false(remakes_may(r, 1, START + REMAKES_PAUSE_NS - 1));
	assert_true(remakes_may(r, 1, START + REMAKES_PAUSE_NS));
	remakes_free(r);
}

/* A hundred files, as expensive as can be, that are missed all the time, for a day. */
static void test_remaking_takes_its_share_at_most(void **state)
{
	const uint64_t cost = 3 * SECOND, day = 86400 * SECOND;
	struct remakes *r;
	uint64_t spent = 0;

	(void)state;
	assert_int_equal(remakes_new(101, &r), 0);
	for (uint32_t f = 1; f <= 100; f++) {
		remakes_spend(r, f, cost, START); /* the first time is not counted */
		remakes_made(r, f, size, cost, true, START);
	}
	for (uint64_t now = START; now < START + day; now += SECOND) {
		for (uint32_t f = 1; f <= 100; f++) {
			if (!remakes_may(r, f, now))
				continue;
			remakes_spend(r, f, cost, now);
			remakes_made(r, f, size, cost, true, now);
			spent += cost;
		}
	}
	assert_true(spent <= day / REMAKES_SHARE + REMAKES_SAVED_NS + cost);
	assert_true(spent >= day / REMAKES_SHARE - cost);
	remakes_free(r);
}

static void test_who_is_turned_down_waits_longer_each_time(void **state)
{
	struct remakes *r;
	uint64_t now = START, before = 0, wait = 0;

	(void)state;
	assert_int_equal(remakes_new(4, &r), 0);
	remakes_made(r, 1, size, 1000, true, START);
	for (int i = 0; i < 10; i++) {
		assert_false(remakes_is_put_off(r, 1, now));
		remakes_put_off(r, 1, now);
		for (wait = 0; remakes_is_put_off(r, 1, now + wait);)
			wait += SECOND;
		assert_int_equal(wait, !before				? REMAKES_PAUSE_NS
				       : before * 2 < REMAKES_MOST_WAIT ? before * 2
									: REMAKES_MOST_WAIT);
		before = wait;
		now += wait;
	}
	assert_int_equal(wait, REMAKES_MOST_WAIT);
	remakes_made(r, 1, size, 1000, true, now);
	remakes_put_off(r, 1, now);
	assert_false(remakes_is_put_off(r, 1, now + REMAKES_PAUSE_NS));
	assert_false(remakes_is_put_off(r, 2, now));
	remakes_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_never_made_is_not_known),
		cmocka_unit_test(test_a_table_is_not_made_again_at_once),
		cmocka_unit_test(test_remaking_takes_its_share_at_most),
		cmocka_unit_test(test_who_is_turned_down_waits_longer_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
