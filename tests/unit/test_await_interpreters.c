/* SPDX-License-Identifier: MIT */
/*
 * The wait for the tables of interpreters that run already, before the first sample:
 * daemon/recorder/recorder_event.c. The source is included, with an answer of the test's in place
 * of the tables', so that no clock decides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>

#include <cmocka.h>

#include "daemon/tables/tables.h"

static bool answer(struct tables *tables, const struct object *object, uint64_t until_ns);

#define tables_await answer
#include "daemon/recorder/recorder_event.c"

static struct {
	int asked, there_at, signal_at, signal;
} given;

static bool answer(struct tables *tables, const struct object *object, uint64_t until_ns)
{
	(void)tables, (void)object, (void)until_ns;
	given.asked++;
	if (given.asked == given.signal_at)
		raise(given.signal);
	assert_in_range(given.asked, 1, 20);
	return given.there_at && given.asked % given.there_at == 0;
}

/* Waits for two files. Returns how often their tables were asked for. */
static int asked(int there_at, int signal_at, int signal)
{
	const struct object *objects[2] = {NULL, NULL};
	const struct expected_files files = {.all = {.items = objects, .count = 2}};
	struct recorder r = {0};

	given.asked = 0;
	given.there_at = there_at;
	given.signal_at = signal_at;
	given.signal = signal;
	assert_int_equal(await_tables(&r, &files, UINT64_MAX), 0);
	return given.asked;
}

static void test_all_are_awaited(void **state)
{
	(void)state;
	assert_int_equal(asked(3, 0, 0), 6);
}

/* A signal that is to end the recording ends the wait: for the other files, too. */
static void test_signal_ends_the_wait(void **state)
{
	const int ends[] = {SIGINT, SIGTERM};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		sigset_t end;

		sigemptyset(&end);
		sigaddset(&end, ends[i]);
		assert_int_equal(sigprocmask(SIG_BLOCK, &end, NULL), 0);
		assert_int_equal(asked(0, 2, ends[i]), 2);
		assert_int_equal(asked(0, 0, 0), 0);
		assert_int_equal(sigwaitinfo(&end, NULL), ends[i]);
		assert_int_equal(sigprocmask(SIG_UNBLOCK, &end, NULL), 0);
	}
}

/* Others do not. */
static void test_other_signals_do_not(void **state)
{
	sigset_t other;

	(void)state;
	sigemptyset(&other);
	sigaddset(&other, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &other, NULL), 0);
	assert_int_equal(asked(3, 1, SIGUSR1), 6);
	assert_int_equal(sigwaitinfo(&other, NULL), SIGUSR1);
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &other, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_awaited),
		cmocka_unit_test(test_signal_ends_the_wait),
		cmocka_unit_test(test_other_signals_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
