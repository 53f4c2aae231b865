/* SPDX-License-Identifier: MIT */
/* What --counter takes (daemon/base/counter_spec.h), and when the turns of its events become
 * longer (daemon/capture/event_groups.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/base/counter_spec.h"
#include "daemon/capture/event_groups.h"

/* Adds what is given, in memory that lasts as long as the program. */
static const char *add(struct counter_spec *specs, size_t *n, const char *text)
{
	static char texts[64][64];
	static unsigned used;
	const char *at = NULL, *why;
	char *copy = texts[used++ % 64];

	strncpy(copy, text, sizeof(texts[0]) - 1);
	why = counter_specs_add(specs, n, copy, &at);
	assert_non_null(at);
	return why;
}

static void takes_each_kind(void **state)
{
	static const struct {
		const char *text;
		enum stackd_counter_kind kind;
	} given[] = {
		{"page-faults", STACKD_COUNTER_FAULTS}, {"var:cells@a.so", STACKD_COUNTER_VARIABLE},
		{"probe:solve", STACKD_COUNTER_HITS},	{"instructions:u", STACKD_COUNTER_EVENT},
		{"r1a8", STACKD_COUNTER_EVENT},
	};
	const size_t count = sizeof(given) / sizeof(*given);
	struct counter_spec specs[STACKD_MOST_COUNTERS];
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < count; i++)
		assert_null(add(specs, &n, given[i].text));
	assert_null(add(specs, &n, "cpu"));
	assert_int_equal(n, count + 1);
	assert_int_equal(specs[0].kind, STACKD_COUNTER_CPU);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(specs[i + 1].kind, given[i].kind);
		assert_string_equal(specs[i + 1].name, given[i].text);
		assert_int_equal(specs[i + 1].brace, 0);
	}
	assert_string_equal(specs[2].variable, "cells@a.so");
	assert_string_equal(specs[3].probe, "solve");
}

static void keeps_groups_apart(void **state)
{
	struct counter_spec specs[STACKD_MOST_COUNTERS];
	size_t n = 0;

	(void)state;
	assert_null(add(specs, &n, "{cycles,instructions}"));
	assert_null(add(specs, &n, "{cache-misses}"));
	assert_null(add(specs, &n, "branches"));
	assert_int_equal(n, 5);
	assert_string_equal(specs[2].name, "instructions");
	assert_int_not_equal(specs[1].brace, 0);
	assert_int_equal(specs[1].brace, specs[2].brace);
	assert_int_not_equal(specs[3].brace, 0);
	assert_int_not_equal(specs[3].brace, specs[1].brace);
	assert_int_equal(specs[4].brace, 0);
}

static void refuses(void **state)
{
	static const char *const wrong[] = {"",	       "var:",	      "probe:", "{cycles",
					    "{}",      "{cycles,}",   "{",	"{page-faults}",
					    "{var:x}", "{cycles,cpu}"};
	struct counter_spec specs[STACKD_MOST_COUNTERS];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		size_t n = 0;

		assert_non_null(add(specs, &n, wrong[i]));
		assert_in_range(n, 1, STACKD_MOST_COUNTERS);
	}
}

static void takes_no_more_than_there_is_room_for(void **state)
{
	struct counter_spec specs[STACKD_MOST_COUNTERS];
	size_t n = 0;

	(void)state;
	assert_null(add(specs, &n, "{a,b,c,d,e,f}"));
	assert_non_null(add(specs, &n, "{g,h}"));
	assert_int_equal(n, STACKD_MOST_COUNTERS);
	assert_non_null(add(specs, &n, "i"));
	assert_int_equal(n, STACKD_MOST_COUNTERS);
}

static void asks_for_longer_turns(void **state)
{
	(void)state;
	assert_false(event_groups_are_cut(0, 0)); /* no pass has ended */
	assert_false(event_groups_are_cut(30, 2));
	assert_false(event_groups_are_cut(31, 10));
	assert_true(event_groups_are_cut(30, 10));
	assert_true(event_groups_are_cut(0, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_each_kind),
		cmocka_unit_test(keeps_groups_apart),
		cmocka_unit_test(refuses),
		cmocka_unit_test(takes_no_more_than_there_is_room_for),
		cmocka_unit_test(asks_for_longer_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
