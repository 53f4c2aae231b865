/* SPDX-License-Identifier: MIT */
/* Moments and durations as users write them: base/wall_time.c and base/duration.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/duration.h"
#include "base/wall_time.h"

#define SECOND UINT64_C(1000000000)

/* 2026-11-22 23:30:00 UTC, a Sunday. */
#define NOW (UINT64_C(1795390200) * SECOND)

static void use_zone(const char *zone)
{
	assert_int_equal(setenv("TZ", zone, 1), 0);
	tzset();
}

/* Checks that a text is a moment, by its seconds since 1970. */
static void is(const char *text, uint64_t now_ns, uint64_t after_ns, uint64_t expected_s)
{
	uint64_t moment = 0;

	assert_true(wall_time_is(text));
	assert_int_equal(wall_time_parse(text, now_ns, after_ns, &moment), 0);
	assert_int_equal(moment / SECOND, expected_s);
	assert_int_equal(moment % SECOND, 0);
}

static void is_no(const char *text, int err)
{
	uint64_t moment;

	assert_int_equal(wall_time_parse(text, NOW, 0, &moment), err);
}

static void times_of_day(void **state)
{
	(void)state;
	use_zone("UTC");
	is("23:30", NOW, 0, NOW / SECOND);
	is("23:30:01", NOW, 0, NOW / SECOND + 1 - 86400);
	is("14:05", NOW, 0, NOW / SECOND - 9 * 3600 - 25 * 60);
	is("00:00", NOW, 0, NOW / SECOND - 23 * 3600 - 1800);
	is("7:09", NOW, 0, NOW / SECOND - 16 * 3600 - 21 * 60);
	/* The first one after another moment, also beyond now and midnight. */
	is("14:10", NOW, NOW - 9 * 3600 * SECOND, NOW / SECOND + 14 * 3600 + 40 * 60);
	is("23:40", NOW, NOW - 60 * SECOND, NOW / SECOND + 600);
	is("00:10", NOW, NOW, NOW / SECOND + 2400);
	is("23:30", NOW, NOW, NOW / SECOND + 86400);
	use_zone("Asia/Kolkata"); /* it is 05:00 there */
	is("04:59", NOW, 0, NOW / SECOND - 60);
	is("05:01", NOW, 0, NOW / SECOND + 60 - 86400);
}

static void dates(void **state)
{
	(void)state;
	use_zone("UTC");
	is("2026-11-22", NOW, 0, 1795305600);
	is("2026-11-22 14:05:30", NOW, 0, 1795305600 + 14 * 3600 + 330);
	is("2026-11-22T14:05", NOW, NOW, 1795305600 + 14 * 3600 + 300);
	is("today", NOW, 0, 1795305600);
	is("yesterday", NOW, 0, 1795305600 - 86400);
	is("yesterday 23:59", NOW, 0, 1795305600 - 60);
	is("today 01:00", NOW, 0, 1795305600 + 3600);
	is("2024-02-29", NOW, 0, 1709164800);
	is("now", NOW, 0, NOW / SECOND);
	is("yesterday", UINT64_C(1772323200) * SECOND, 0, 1772236800); /* of March 1st */
	use_zone("America/New_York");				       /* it is 18:30 there */
	is("today", NOW, 0, 1795305600 + 5 * 3600);
}

/* Berlin's clocks go from 02:00 to 03:00 on 2026-03-29, and from 03:00 back to 02:00 on 2026-10-25.
 */
static void summer_time(void **state)
{
	const uint64_t spring = UINT64_C(1774742400), autumn = UINT64_C(1792886400); /* 00:00 UTC */
	uint64_t moment;

	(void)state;
	use_zone("Europe/Berlin");
	is("2026-03-29 01:59", NOW, 0, spring + 59 * 60);
	is("2026-03-29 03:00", NOW, 0, spring + 3600);
	is_no("2026-03-29 02:00", -ERANGE);
	is_no("2026-03-29 02:59:59", -ERANGE);
	assert_int_equal(wall_time_parse("02:30", (spring + 7200) * SECOND, 0, &moment), -ERANGE);
	is("01:30", (spring + 7200) * SECOND, 0, spring + 1800);
	is("2026-10-25 02:30", NOW, 0, autumn + 1800);
	is("2026-10-25 02:30", NOW, autumn * SECOND, autumn + 1800 + 3600);
	is("2026-10-25 03:00", NOW, 0, autumn + 7200);
	/* The hour's first half hour, asked for in its second. */
	is("02:10", (autumn + 3600 + 1800) * SECOND, 0, autumn + 600);
	/* Days of 23 and 25 hours. */
	is("yesterday", (spring + 86400) * SECOND, 0, spring - 3600);
	is("today", (autumn + 7200) * SECOND, 0, autumn - 7200);
	is("12:00", (autumn + 7200) * SECOND, 0, autumn - 86400 + 10 * 3600);
}

static void no_moments(void **state)
{
	static const char *const texts[] = {"24:00",
					    "12:60",
					    "12:00:60",
					    "12",
					    "12:",
					    ":30",
					    "12:3x",
					    "2026-11-31",
					    "2026-02-29",
					    "2026-00-10",
					    "2026-13-01",
					    "2026-11-",
					    "2026-11-22x",
					    "2026-11-22 ",
					    "2026-11-22 25:00",
					    "tomorrow",
					    "today x",
					    "yesterday14:00",
					    "nowish",
					    "",
					    "1960-01-01",
					    "-5:00",
					    "2026-11-22 14:05:30 Z"};

	(void)state;
	use_zone("UTC");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		is_no(texts[i], -EINVAL);
	assert_false(wall_time_is("2"));
	assert_false(wall_time_is("1e-3"));
	assert_false(wall_time_is("-1"));
	assert_false(wall_time_is("20ms"));
	assert_false(wall_time_is(""));
}

static void lasts(const char *text, uint64_t ns)
{
	uint64_t found = 0;

	assert_true(duration_parse(text, &found));
	assert_int_equal(found, ns);
}

static void durations(void **state)
{
	static const char *const bad[] = {"",	 "x",	  "-1",	 "-1s", "nan",
					  "inf", "1e300", "2 h", "3hh", "1w"};
	uint64_t ns;

	(void)state;
	lasts("2h", 7200 * SECOND);
	lasts("1.5", 3 * SECOND / 2);
	lasts("20ms", 20000000);
	lasts("3m", 180 * SECOND);
	lasts("3min", 180 * SECOND);
	lasts("7d", 7 * 86400 * SECOND);
	lasts("1e-3", 1000000);
	lasts("5us", 5000);
	lasts("0", 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(duration_parse(bad[i], &ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_of_day), cmocka_unit_test(dates),
		cmocka_unit_test(summer_time),	cmocka_unit_test(no_moments),
		cmocka_unit_test(durations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
