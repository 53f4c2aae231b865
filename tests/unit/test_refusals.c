/* SPDX-License-Identifier: MIT */
/* Refusals of files: how long they last, deaths that are not the file's fault, and the bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/worker/refusals.h"

#define S UINT64_C(1000000000)

static void test_they_end(void **state)
{
	struct refusals r = {0};
	uint64_t now = 5 * S, lasts = REFUSALS_FIRST_NS;
	(void)state;

	assert_false(refusals_has(&r, 7, now));
	for (int i = 0; i < 12; i++) {
		assert_true(refusals_add(&r, 7, REFUSALS_FIRST_NS, now));
		assert_true(refusals_has(&r, 7, now));
		assert_true(refusals_has(&r, 7, now + lasts - 1));
		assert_false(refusals_has(&r, 7, now + lasts));
		assert_false(refusals_has(&r, 8, now));
		now += lasts;
		lasts = 2 * lasts > REFUSALS_LONGEST_NS ? REFUSALS_LONGEST_NS : 2 * lasts;
	}
	assert_int_equal(lasts, REFUSALS_LONGEST_NS);
	refusals_fini(&r);
	assert_false(refusals_has(&r, 7, now - 1));
}

/* A file that was read well for as long as it had been refused is like a new one. */
static void test_they_are_forgotten(void **state)
{
	struct refusals r = {0};
	uint64_t now = 5 * S;
	(void)state;

	assert_true(refusals_add(&r, 7, S, now));
	now += 2 * S; /* the last moment that counts as soon */
	assert_true(refusals_add(&r, 7, S, now));
	assert_true(refusals_has(&r, 7, now + 2 * S - 1));
	assert_false(refusals_has(&r, 7, now + 2 * S));
	now += 4 * S + 1;
	assert_true(refusals_add(&r, 7, S, now));
	assert_true(refusals_has(&r, 7, now + S - 1));
	assert_false(refusals_has(&r, 7, now + S));
	refusals_fini(&r);
}

static void test_killed_by_others(void **state)
{
	struct refusals r = {0};
	const uint64_t now = 5 * S;
	(void)state;

	assert_false(refusals_killed(&r, 7, now));
	assert_false(refusals_has(&r, 7, now));
	assert_false(refusals_killed(&r, 8, now)); /* another file */
	assert_true(refusals_killed(&r, 7, now + S));
	/* long after it, it is a first time again */
	assert_false(refusals_killed(&r, 7, now + S + REFUSALS_KILL_NS));
	assert_true(refusals_killed(&r, 7, now + 2 * S + REFUSALS_KILL_NS));
	assert_false(refusals_has(&r, 7, now));
	refusals_fini(&r);
}

static void test_bound(void **state)
{
	struct refusals r = {0};
	(void)state;

	for (uint64_t key = 1; key <= REFUSALS_MOST; key++)
		assert_true(refusals_add(&r, key, REFUSALS_FIRST_NS, key));
	assert_false(refusals_add(&r, UINT64_MAX, REFUSALS_FIRST_NS, REFUSALS_MOST));
	assert_true(refusals_has(&r, UINT64_MAX, REFUSALS_MOST));
	assert_false(refusals_has(&r, 1, REFUSALS_MOST)); /* it would have ended first */
	assert_true(refusals_has(&r, 2, REFUSALS_MOST));
	/* one that has ended makes room without a loss */
	assert_true(refusals_add(&r, UINT64_MAX - 1, REFUSALS_FIRST_NS, REFUSALS_FIRST_NS + 2));
	assert_int_equal(r.all.count, REFUSALS_MOST);
	refusals_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_they_end),
		cmocka_unit_test(test_they_are_forgotten),
		cmocka_unit_test(test_killed_by_others),
		cmocka_unit_test(test_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
