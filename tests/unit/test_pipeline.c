/* SPDX-License-Identifier: MIT */
/* Jobs are consumed in order, whichever thread produced them, and an error ends the run. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/pipeline.h"

#define JOBS 5000u

struct run {
	uint64_t slots[PIPELINE_SLOTS];
	size_t n_taken, fail_make, fail_take;
	uint64_t sum;
};

/* Some take longer than others, and the longest not always the same. */
static int make(void *arg, size_t job, unsigned slot)
{
	struct run *run = arg;
	uint64_t value = job;

	for (size_t i = 0; i < job * 7919 % 400; i++)
		value = value * 11 ^ i;
	run->slots[slot] = value;
	return job == run->fail_make ? -EBADMSG : 0;
}

static uint64_t expected(size_t job)
{
	struct run run = {.fail_make = SIZE_MAX};

	make(&run, job, 0);
	return run.slots[0];
}

static int take(void *arg, size_t job, unsigned slot)
{
	struct run *run = arg;

	assert_int_equal(job, run->n_taken);
	assert_true(run->slots[slot] == expected(job));
	run->n_taken++;
	memset(&run->slots[slot], 0xee, sizeof(run->slots[slot]));
	return job == run->fail_take ? -EIO : 0;
}

static int go(struct run *run, size_t n)
{
	const struct pipeline_work work = {n, make, take, run};

	return pipeline_run(&work);
}

static void test_all_in_order(void **state)
{
	(void)state;
	for (size_t n = 0; n <= 2 * PIPELINE_SLOTS + 1; n++) {
		struct run run = {.fail_make = SIZE_MAX, .fail_take = SIZE_MAX};

		assert_int_equal(go(&run, n), 0);
		assert_int_equal(run.n_taken, n);
	}
	for (int again = 0; again < 3; again++) {
		struct run run = {.fail_make = SIZE_MAX, .fail_take = SIZE_MAX};

		assert_int_equal(go(&run, JOBS), 0);
		assert_int_equal(run.n_taken, JOBS);
	}
}

static void test_make_fails(void **state)
{
	(void)state;
	for (size_t at = 0; at < 40; at++) {
		struct run run = {.fail_make = at, .fail_take = SIZE_MAX};

		assert_int_equal(go(&run, 50), -EBADMSG);
		assert_int_equal(run.n_taken, at); /* all before it, and none after */
	}
}

static void test_take_fails(void **state)
{
	(void)state;
	for (size_t at = 0; at < 40; at++) {
		struct run run = {.fail_make = at + 1, .fail_take = at};

		assert_int_equal(go(&run, 50), -EIO);
		assert_int_equal(run.n_taken, at + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_in_order),
		cmocka_unit_test(test_make_fails),
		cmocka_unit_test(test_take_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
