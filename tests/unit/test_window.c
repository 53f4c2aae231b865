/* SPDX-License-Identifier: MIT */
/* The windows of a recording end where the wall clock says: daemon/window.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <time.h>

#include "daemon/window.h"

#define SECOND UINT64_C(1000000000)
#define HOUR   (3600 * SECOND)
#define DAY    (24 * HOUR)

/* 2026-03-28 23:30:00 UTC: in Berlin 00:30, of the day on which summer time begins at 02:00. */
#define EVENING (UINT64_C(1774740600) * SECOND)

static void use_zone(const char *zone)
{
	assert_int_equal(setenv("TZ", zone, 1), 0);
	tzset();
}

static void ends_on_the_hour(void **state)
{
	struct window w;

	(void)state;
	use_zone("UTC");
	w = window_begin(HOUR, EVENING, 5 * SECOND);
	assert_true(w.end_ns == 5 * SECOND + HOUR / 2);
	assert_true(w.start_unix_ns == EVENING);
	w = window_begin(HOUR, EVENING + HOUR / 2, w.end_ns);
	assert_true(w.end_ns == 5 * SECOND + HOUR * 3 / 2);
	w = window_begin(10 * SECOND, EVENING + 3 * SECOND, 0);
	assert_true(w.end_ns == 7 * SECOND);
	use_zone("Asia/Kolkata"); /* half an hour off the others' hours */
	w = window_begin(HOUR, EVENING, 0);
	assert_true(w.end_ns == HOUR);
	w = window_begin(0, EVENING, 0);
	assert_true(w.end_ns == UINT64_MAX);
}

/* The clocks are read one after the other, so a window can seem to begin a little off. */
static void little_is_left_to_the_next(void **state)
{
	struct window w, before = {.length_ns = HOUR, .end_ns = SECOND};

	(void)state;
	use_zone("UTC");
	w = window_next(&before, EVENING + HOUR / 2 - 1000);
	assert_true(w.start_ns == SECOND && w.end_ns == SECOND + 1000 + HOUR);
	assert_true(w.start_unix_ns == EVENING + HOUR / 2);
	w = window_next(&before, EVENING + HOUR / 2 + 1000);
	assert_true(w.end_ns == SECOND - 1000 + HOUR);
	assert_true(w.start_unix_ns == EVENING + HOUR / 2);
	w = window_next(&before, EVENING + HOUR / 2 - SECOND);
	assert_true(w.end_ns == SECOND + SECOND + HOUR);
	assert_true(w.start_unix_ns == EVENING + HOUR / 2 - SECOND);
	/* A first window begins when it does, so that it ends where it says. */
	for (int64_t off = -45; off <= 45; off += 90) {
		uint64_t at = EVENING + HOUR / 2 + (uint64_t)(off * (int64_t)SECOND / 1000);

		w = window_begin(HOUR, at, 7 * SECOND);
		assert_true(w.start_unix_ns == at);
		assert_true(at + (w.end_ns - w.start_ns) == EVENING + HOUR * 3 / 2);
	}
	for (uint64_t at = 0; at < 2 * SECOND; at += 7654321) {
		uint64_t left = window_left_ns(2 * SECOND, EVENING + at, 3600);

		assert_true(left >= 2 * SECOND / 16 && left < 2 * SECOND * 17 / 16);
		assert_true((EVENING + at + left) % (2 * SECOND) == 0);
	}
}

/* Days end at local midnight, also where one has 23 hours; a window that is under way then ends by
 * the offset that it began with, and the next is aligned again. */
static void days_are_local(void **state)
{
	struct window w;

	(void)state;
	use_zone("Europe/Berlin");
	w = window_begin(DAY, EVENING, 0);
	assert_true(w.end_ns == DAY - HOUR / 2);
	w = window_begin(DAY, EVENING + w.end_ns, w.end_ns); /* 01:00 of the next day */
	assert_true(w.end_ns == 2 * DAY - HOUR * 3 / 2);
	w = window_begin(HOUR, EVENING + HOUR, 0); /* 01:30, half an hour before the change */
	assert_true(w.end_ns == HOUR / 2);
}

static void torn_by_a_clock_that_was_set(void **state)
{
	struct window w;

	(void)state;
	use_zone("UTC");
	w = window_begin(HOUR, EVENING, 100 * SECOND);
	assert_false(window_is_torn(&w, EVENING + 60 * SECOND, 160 * SECOND));
	assert_false(window_is_torn(&w, EVENING + 61 * SECOND, 160 * SECOND));
	assert_true(window_is_torn(&w, EVENING + 60 * SECOND - DAY, 160 * SECOND));
	assert_true(window_is_torn(&w, EVENING + HOUR, 160 * SECOND)); /* suspended */
	w = window_begin(0, EVENING, 100 * SECOND);
	assert_false(window_is_torn(&w, EVENING + HOUR, 160 * SECOND));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_on_the_hour),
		cmocka_unit_test(little_is_left_to_the_next),
		cmocka_unit_test(days_are_local),
		cmocka_unit_test(torn_by_a_clock_that_was_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
