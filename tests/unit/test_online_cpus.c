/* SPDX-License-Identifier: MIT */
/* The kernel's list of CPUs, and what is new in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/capture/online_cpus.h"

static char path[] = "/tmp/online-cpus-XXXXXX";
static struct online_cpus cpus;

static bool look(const char *list)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fprintf(file, "%s\n", list);
	fclose(file);
	return online_cpus_look(&cpus, path);
}

static unsigned count(const bool *which)
{
	unsigned n = 0;

	for (int i = 0; i < ONLINE_CPUS_MAX; i++)
		n += which[i];
	return n;
}

static void tells_those_that_come(void **state)
{
	(void)state;
	assert_false(look("0-3,6,8-9")); /* the first look */
	assert_int_equal(count(cpus.online), 7);
	assert_true(cpus.online[3] && cpus.online[6] && cpus.online[9] && !cpus.online[7]);
	assert_false(look("0-3,6,8-9"));
	assert_false(look("0-1,6"));
	assert_int_equal(count(cpus.online), 3);
	assert_true(look("0-2,6"));
	assert_int_equal(count(cpus.is_new), 1);
	assert_true(cpus.is_new[2]);
	assert_false(look("0-2,6"));
}

static void say(int socket, const char *message)
{
	assert_int_equal(write(socket, message, strlen(message) + 1), strlen(message) + 1);
}

/* Puts a socket of the test in the place of the kernel's. Returns the end that is written to. */
static int listen_to_test(void)
{
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets), 0);
	cpus.messages = sockets[0];
	cpus.has_messages = true;
	return sockets[1];
}

/* A CPU that was off line between two looks is in the list at both. */
static void finds_those_that_were_away_shortly(void **state)
{
	int kernel = listen_to_test();

	(void)state;
	look("0-3");
	say(kernel, "offline@/devices/system/cpu/cpu2");
	say(kernel, "online@/devices/system/cpu/cpu2");
	say(kernel, "change@/devices/virtual/block/loop0");
	assert_true(look("0-3"));
	assert_int_equal(count(cpus.is_new), 1);
	assert_true(cpus.is_new[2]);
	assert_false(look("0-3"));
	say(kernel, "online@/devices/system/cpu/cpu7"); /* and off again */
	say(kernel, "online@/devices/system/cpu/cpu99999");
	say(kernel, "online@/devices/system/cpu/cpufreq");
	say(kernel, "");
	assert_false(look("0-3"));
	close(kernel);
	online_cpus_close(&cpus);
}

/* The message of a CPU can come after the list has it: it has come on line once. */
static void finds_each_once(void **state)
{
	int kernel = listen_to_test();

	(void)state;
	look("0-1");
	assert_true(look("0-2"));
	say(kernel, "online@/devices/system/cpu/cpu2");
	assert_false(look("0-2"));
	say(kernel, "online@/devices/system/cpu/cpu2"); /* after a suspend, without "offline" */
	assert_true(look("0-2"));
	assert_true(cpus.is_new[2]);

	look("0-1");
	say(kernel, "offline@/devices/system/cpu/cpu2");
	assert_true(look("0-2"));
	say(kernel, "online@/devices/system/cpu/cpu2");
	say(kernel, "offline@/devices/system/cpu/cpu2");
	say(kernel, "online@/devices/system/cpu/cpu2");
	assert_true(look("0-2")); /* it was away again */
	assert_int_equal(count(cpus.is_new), 1);
	assert_false(look("0-2"));

	look("0-1");
	assert_true(look("0-2"));
	say(kernel, "offline@/devices/system/cpu/cpu2"); /* a message before was lost */
	say(kernel, "online@/devices/system/cpu/cpu2");
	assert_true(look("0-2"));
	close(kernel);
	online_cpus_close(&cpus);
}

static void survives_other_texts(void **state)
{
	(void)state;
	look("0-1");
	assert_false(look("no list"));
	assert_int_equal(count(cpus.online), 2);
	assert_false(look("0-1,"));
	online_cpus_close(&cpus);
	assert_false(online_cpus_look(&cpus, "/nowhere"));
	assert_int_equal(count(cpus.online), 2);
	assert_true(look("0-4000000000"));
	assert_int_equal(count(cpus.online), ONLINE_CPUS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_those_that_come),
		cmocka_unit_test(finds_those_that_were_away_shortly),
		cmocka_unit_test(finds_each_once),
		cmocka_unit_test(survives_other_texts),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 1;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
