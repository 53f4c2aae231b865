/* SPDX-License-Identifier: MIT */
/* debuginfod servers that send without end, that never answer, and a caller that wants to end. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sym/debuginfod.h"

#include "fake_debuginfod.h"

static struct debuginfod *make(const struct debuginfod_limits *limits)
{
	struct debuginfod *d;
	int err = debuginfod_new(&d);

	if (err == -ENOENT) /* no client library here */
		skip();
	assert_int_equal(err, 0);
	assert_int_equal(serve_from_now_on(), 0);
	debuginfod_limit(d, limits);
	return d;
}

static int fetch(struct debuginfod *d, uint8_t number)
{
	const uint8_t build_id[20] = {number};

	return debuginfod_fetch(d, build_id, sizeof(build_id));
}

static void test_bytes_are_bounded(void **state)
{
	struct debuginfod *d = make(&(struct debuginfod_limits){8 << 20, UINT64_MAX, NULL, NULL});
	unsigned asked;
	(void)state;

	serve(SENDS_WITHOUT_END);
	assert_int_equal(fetch(d, 1), -EFBIG);
	assert_true(__atomic_load_n(&server.sent, __ATOMIC_SEQ_CST) < SENT_MOST);
	asked = served();
	assert_int_equal(fetch(d, 1), -EFBIG);
	assert_int_equal(served(), asked);
	/* other files are asked for: one that is too large is not the server's fault */
	assert_int_equal(fetch(d, 2), -EFBIG);
	assert_true(served() > asked);
	debuginfod_free(d);
}

static void test_time_is_bounded(void **state)
{
	struct debuginfod *d = make(&(struct debuginfod_limits){UINT64_MAX, 1, NULL, NULL});
	(void)state;

	serve(IS_SILENT);
	assert_int_equal(fetch(d, 3), -ETIMEDOUT);
	assert_int_equal(fetch(d, 4), -ETIMEDOUT);
	debuginfod_free(d);
}

static bool stop(void *asked)
{
	++*(int *)asked;
	return true;
}

static void test_caller_ends_it(void **state)
{
	int asked = 0;
	struct debuginfod *d =
		make(&(struct debuginfod_limits){UINT64_MAX, UINT64_MAX, stop, &asked});
	(void)state;

	serve(IS_SILENT);
	assert_int_equal(fetch(d, 5), -ECANCELED);
	assert_true(asked > 0);
	asked = 0;
	assert_int_equal(fetch(d, 6), -ECANCELED); /* the server is not to blame */
	assert_true(asked > 0);
	debuginfod_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_are_bounded),
		cmocka_unit_test(test_time_is_bounded),
		cmocka_unit_test(test_caller_ends_it),
	};
	return cmocka_run_group_tests(tests, fake_debuginfod_begin, fake_debuginfod_end);
}
