/* SPDX-License-Identifier: MIT */
/* The process that asks debuginfod servers: what it brings, servers that send without end or never
 * answer, a caller that wants to end, and a fetcher that hangs. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/worker/fetcher.h"
#include "sym/debuginfod.h"

#define MOST_BYTES (UINT64_C(8) << 20)
#define NEVER	   UINT64_C(3600000000000)

static char folder[] = "/tmp/test-fetcher-XXXXXX";
static int listening;
static enum { BRINGS, SENDS_WITHOUT_END, IS_SILENT } server; /* accessed atomically */

static void *serve(void *arg)
{
	static const char head[] =
		"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n";
	static char bytes[1 << 16];
	int fd;

	while ((fd = accept(listening, NULL, NULL)) >= 0) {
		const int how = __atomic_load_n(&server, __ATOMIC_SEQ_CST);
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (how != IS_SILENT && n > 0)
			n = send(fd, head, strlen(head), MSG_NOSIGNAL);
		if (how == BRINGS && n > 0)
			send(fd, "brought", 7, MSG_NOSIGNAL);
		while (how == SENDS_WITHOUT_END && n > 0)
			n = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
		while (how == IS_SILENT && read(fd, bytes, sizeof(bytes)) > 0)
			;
		close(fd);
	}
	return arg;
}

static int begin(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	char url[64];
	(void)state;

	listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listening < 0 || bind(listening, (struct sockaddr *)&address, len) ||
	    listen(listening, 8) || getsockname(listening, (struct sockaddr *)&address, &len) ||
	    !mkdtemp(folder))
		return -1;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", folder, 1);
	setenv("no_proxy", "127.0.0.1", 1);
	return 0;
}

static int end(void **state)
{
	char command[96];
	(void)state;

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

/* The fetcher is forked while there is one thread. */
static struct fetcher *make(uint64_t most_ns)
{
	static pthread_t thread;
	struct debuginfod *d;
	struct fetcher *f;

	if (debuginfod_new(&d) == -ENOENT) /* no client library here */
		skip();
	debuginfod_free(d);
	assert_int_equal(fetcher_new(MOST_BYTES, most_ns, &f), 0);
	if (!thread) {
		assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
		assert_int_equal(pthread_detach(thread), 0);
	}
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

static int fetch(struct fetcher *f, uint8_t number, int how)
{
	const uint8_t build_id[20] = {number};

	__atomic_store_n(&server, how, __ATOMIC_SEQ_CST);
	return fetcher_fetch(f, build_id, sizeof(build_id), never, NULL);
}

/* Returns whether libdebuginfod's folder has something of a build-id, which says to the next one
 * who asks that no server has the file. */
static bool is_kept(uint8_t number)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%02x%038d/debuginfo", folder, number, 0);
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
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), 7);
	assert_string_equal(bytes, "brought");
	close(fd);
	assert_true(is_kept(1));
	assert_int_equal(fetch(f, 2, SENDS_WITHOUT_END), -EFBIG);
	assert_false(is_kept(2));
	/* What nobody waits for is ended by the next request, whose answer is its own. */
	__atomic_store_n(&server, IS_SILENT, __ATOMIC_SEQ_CST);
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
	return cmocka_run_group_tests(tests, begin, end);
}
