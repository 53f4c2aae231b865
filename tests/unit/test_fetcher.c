/* SPDX-License-Identifier: MIT */
/* The process that asks debuginfod servers: what it brings, servers that send without end or never
 * answer, a caller that wants to end, and a fetcher that hangs. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/worker/fetcher.h"
#include "sym/debuginfod.h"

#include "fake_debuginfod.h"

#define MOST_BYTES (UINT64_C(8) << 20)
#define NEVER	   UINT64_C(3600000000000)

/* The fetcher is forked while there is one thread. */
static struct fetcher *make(uint64_t most_ns)
{
	struct debuginfod *d;
	struct fetcher *f;

	if (debuginfod_new(&d) == -ENOENT) /* no client library here */
		skip();
	debuginfod_free(d);
	assert_int_equal(fetcher_new(MOST_BYTES, most_ns, &f), 0);
	assert_int_equal(serve_from_now_on(), 0);
	return f;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

/* Says so at the third call. */
static bool soon(void *calls)
{
	return ++*(int *)calls == 3;
}

static int fetch(struct fetcher *f, uint8_t number, enum serves how)
{
	const uint8_t build_id[20] = {number};

	serve(how);
	return fetcher_fetch(f, build_id, sizeof(build_id), never, NULL);
}

/* Returns whether libdebuginfod's folder has something of a build-id, which says to the next one
 * who asks that no server has the file. */
static bool is_kept(uint8_t number)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%02x%038d/debuginfo", server.folder, number, 0);
	return !access(path, F_OK);
}

static void test_fetches(void **state)
{
	const uint8_t build_id[20] = {3};
	struct fetcher *f = make(NEVER);
	char bytes[8] = "";
	int fd = fetch(f, 1, BRINGS), calls = 0;
	(void)state;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), sizeof(BROUGHT) - 1);
	assert_string_equal(bytes, BROUGHT);
	close(fd);
	assert_true(is_kept(1));
	assert_int_equal(fetch(f, 2, SENDS_WITHOUT_END), -EFBIG);
	assert_false(is_kept(2));
	/* What nobody waits for is ended by the next request, whose answer is its own. */
	serve(IS_SILENT);
	assert_int_equal(fetcher_fetch(f, build_id, sizeof(build_id), soon, &calls), -ECANCELED);
	fd = fetch(f, 4, BRINGS);
	assert_true(fd >= 0);
	close(fd);
	assert_false(is_kept(3));
	assert_true(fetcher_resident_bytes(f) > 0);
	fetcher_free(f);
}

static void test_time_is_bounded(void **state)
{
	struct fetcher *f = make(1);
	(void)state;

	assert_int_equal(fetch(f, 5, IS_SILENT), -ETIMEDOUT);
	assert_false(is_kept(5));
	fetcher_free(f);
}

static void test_fetcher_that_hangs(void **state)
{
	struct fetcher *f = make(1);
	const pid_t pid = fetcher_pid(f);
	uint64_t cpu_ns;
	(void)state;

	while (!fetcher_cpu_ns(f)) /* until it has run */
		usleep(1000);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(fetch(f, 6, BRINGS), -ETIMEDOUT);
	cpu_ns = fetcher_cpu_ns(f);
	while (fetcher_pid(f)) { /* it was killed, and is reaped */
		assert_true(fetcher_cpu_ns(f) >= cpu_ns);
		usleep(1000);
	}
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_true(fetcher_cpu_ns(f) >= cpu_ns); /* its account stays */
	assert_int_equal(fetcher_resident_bytes(f), 0);
	assert_int_equal(fetch(f, 7, BRINGS), -EPIPE); /* and it is not asked again */
	fetcher_free(f);
}

static void test_no_servers(void **state)
{
	struct fetcher *f;
	(void)state;

	setenv("DEBUGINFOD_URLS", "", 1);
	assert_int_equal(fetcher_new(MOST_BYTES, NEVER, &f), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fetches),
		cmocka_unit_test(test_time_is_bounded),
		cmocka_unit_test(test_fetcher_that_hangs),
		cmocka_unit_test(test_no_servers),
	};

	alarm(600);
	return cmocka_run_group_tests(tests, fake_debuginfod_begin, fake_debuginfod_end);
}
