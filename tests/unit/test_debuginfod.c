/* SPDX-License-Identifier: MIT */
/* debuginfod servers that send without end, that never answer, and a caller that wants to end. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "sym/debuginfod.h"

#define SENT_MOST (UINT64_C(4) << 30) /* a client that takes so much has no limit */

static char folder[] = "/tmp/test-debuginfod-XXXXXX";
static int listening;
static bool is_silent;
static uint64_t sent;	  /* to the last client */
static unsigned requests; /* accessed atomically */

static void *serve(void *arg)
{
	static const char head[] =
		"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n";
	static char bytes[1 << 16];
	int fd;

	while ((fd = accept(listening, NULL, NULL)) >= 0) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n > 0)
			__atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
		sent = 0;
		if (!is_silent && n > 0)
			n = send(fd, head, strlen(head), MSG_NOSIGNAL);
		memset(bytes, 0, sizeof(bytes));
		while (!is_silent && n > 0 && sent < SENT_MOST) {
			n = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
			sent += n > 0 ? (uint64_t)n : 0;
		}
		if (is_silent)
			while (read(fd, bytes, sizeof(bytes)) > 0)
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
	pthread_t thread;
	char url[64];

	(void)state;
	listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listening < 0 || bind(listening, (struct sockaddr *)&address, len) ||
	    listen(listening, 8) || getsockname(listening, (struct sockaddr *)&address, &len) ||
	    !mkdtemp(folder) || pthread_create(&thread, NULL, serve, NULL) ||
	    pthread_detach(thread))
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

static struct debuginfod *make(const struct debuginfod_limits *limits)
{
	struct debuginfod *d;
	int err = debuginfod_new(&d);

	if (err == -ENOENT) /* no client library here */
		skip();
	assert_int_equal(err, 0);
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

	is_silent = false;
	assert_int_equal(fetch(d, 1), -EFBIG);
	assert_true(sent < SENT_MOST);
	asked = __atomic_load_n(&requests, __ATOMIC_RELAXED);
	assert_int_equal(fetch(d, 1), -EFBIG);
	assert_int_equal(__atomic_load_n(&requests, __ATOMIC_RELAXED), asked);
	/* other files are asked for: one that is too large is not the server's fault */
	assert_int_equal(fetch(d, 2), -EFBIG);
	assert_true(__atomic_load_n(&requests, __ATOMIC_RELAXED) > asked);
	debuginfod_free(d);
}

static void test_time_is_bounded(void **state)
{
	struct debuginfod *d = make(&(struct debuginfod_limits){UINT64_MAX, 1, NULL, NULL});
	(void)state;

	is_silent = true;
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

	is_silent = true;
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
	return cmocka_run_group_tests(tests, begin, end);
}
