/* SPDX-License-Identifier: MIT */
/* Environments that can be read, and one that never answers: daemon/recorder/environments.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "daemon/recorder/environments.h"
#include "test_proc_fixture.h"

static struct fixture *f;
static struct environments *environments;

static void make_process(int pid, unsigned user)
{
	char *status =
		fixture_format("Name:\tone\nUid:\t%u\t%u\t0\t0\nNStgid:\t%d\n", user, user, pid);

	fixture_process(f, pid, 1, 500, "one", "");
	fixture_write_pid(f, pid, "status", status);
	fixture_write_pid(f, pid, "environ", "A=b");
	free(status);
}

static void set_up_all(void)
{
	f = fixture_new();
	make_process(7, 1000);
	make_process(8, 1000);
	make_process(9, 2000);
	assert_int_equal(environments_new(f->proc, &environments), 0);
}

/* Asks until there is an answer. */
static int read_one(pid_t pid)
{
	char *bytes = NULL;
	size_t size = 0;
	int err;

	do
		err = environments_read(environments, pid, &bytes, &size);
	while (err == -EAGAIN);
	if (!err) {
		assert_int_equal(size, 3);
		assert_string_equal(bytes, "A=b");
		free(bytes);
	}
	return err;
}

static void test_read(void **state)
{
	(void)state;
	set_up_all();
	assert_int_equal(read_one(7), 0);
	assert_int_equal(read_one(9), 0);
	assert_int_equal(read_one(70), -ESRCH);
	assert_int_equal(read_one(8), 0);
	environments_free(environments);
	fixture_free(f);
}

/* A pipe without a writer does not even open. */
static void test_stuck(void **state)
{
	char *path, *bytes;
	size_t size;
	int fd;
	(void)state;

	set_up_all();
	path = fixture_format("%s/7/environ", f->proc);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(environments_read(environments, 7, &bytes, &size), -EAGAIN);
	assert_int_equal(read_one(9), 0); /* once the thread has been left behind */
	assert_int_equal(read_one(8), -ENOENT);
	assert_int_equal(read_one(7), -ENOENT);
	assert_int_equal(read_one(9), 0);
	/* It answers after all. */
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	while (read_one(8) == -ENOENT)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	assert_int_equal(read_one(8), 0);
	environments_free(environments);
	fixture_free(f);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_read),
					   cmocka_unit_test(test_stuck)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
