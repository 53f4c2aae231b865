/* SPDX-License-Identifier: MIT */
/* A thread of thread_start() blocks all signals, and its creator's mask stays as it was. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "base/thread.h"

static void *get_mask(void *arg)
{
	pthread_sigmask(SIG_SETMASK, NULL, arg);
	return arg;
}

static void test_masks(void **state)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGUSR1, SIGCHLD, SIGTERM};
	sigset_t before, inside, after;
	pthread_t thread;
	void *result;

	(void)state;
	sigemptyset(&before);
	sigaddset(&before, SIGUSR1);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
	sigemptyset(&inside);
	assert_int_equal(thread_start(get_mask, &inside, &thread), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, &inside);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		assert_int_equal(sigismember(&inside, signals[i]), 1);
		assert_int_equal(sigismember(&after, signals[i]), signals[i] == SIGUSR1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_masks)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
