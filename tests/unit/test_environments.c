/* SPDX-License-Identifier: MIT */
/* Environments that can be read, slow ones, and one that never answers:
 * daemon/recorder/environments.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <time.h>

#include "daemon/recorder/environments.h"
#include "test_proc_fixture.h"

static struct fixture *f;
static struct environments *environments;

static void write_status(int pid, unsigned user)
{
	char *status =
		fixture_format("Name:\tone\nUid:\t%u\t%u\t0\t0\nNStgid:\t%d\n", user, user, pid);

	fixture_write_pid(f, pid, "status", status);
	free(status);
}

static void make_process(int pid, unsigned user)
{
	fixture_process(f, pid, 1, 500, "one", "");
	write_status(pid, user);
	fixture_write_pid(f, pid, "environ", "A=b");
}

/* Puts a pipe in the place of an environment: without a writer it does not even open. */
static char *make_pipe(int pid)
{
	char *path = fixture_format("%s/%d/environ", f->proc, pid);

	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	return path;
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

/* The process that is being read ends, and another user's gets its id. */
static void test_stuck(void **state)
{
	char *path, *bytes;
	size_t size;
	int fd;
	(void)state;

	set_up_all();
	path = make_pipe(7);
	assert_int_equal(environments_read(environments, 7, &bytes, &size), -EAGAIN);
	write_status(7, 2000);
	assert_int_equal(read_one(9), 0);
	assert_int_equal(read_one(8), -ENOENT); /* once the thread is stuck */
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

/* One who answers late: it writes to the pipe only after environments_read() has given up. */
struct server {
	pthread_t thread;
	sem_t begin, answer;
	char *path; /* NULL: it ends */
};

static void *serve(void *arg)
{
	struct server *s = arg;

	while (!sem_wait(&s->begin) && s->path) {
		int fd = open(s->path, O_WRONLY | O_CLOEXEC);

		assert(fd >= 0);
		assert(!sem_wait(&s->answer));
		assert(write(fd, "A=b", 3) == 3);
		close(fd);
	}
	return NULL;
}

static void start_server(struct server *s)
{
	set_up_all();
	make_process(10, 1000);
	s->path = make_pipe(10);
	sem_init(&s->begin, 0, 0);
	sem_init(&s->answer, 0, 0);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void end_server(struct server *s)
{
	char *path = s->path;

	s->path = NULL;
	sem_post(&s->begin);
	pthread_join(s->thread, NULL);
	sem_destroy(&s->begin);
	sem_destroy(&s->answer);
	environments_free(environments);
	fixture_free(f);
	free(path);
}

/* Returns how often this thread has waited for something. */
static long count_waits(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw;
}

/* Asks for the slow process, and returns whether the call has waited. The answer comes afterwards.
 */
static bool ask_slow(struct server *s)
{
	const long before = count_waits();
	char *bytes;
	size_t size;
	bool has_waited;

	sem_post(&s->begin);
	assert_int_equal(environments_read(environments, 10, &bytes, &size), -EAGAIN);
	has_waited = count_waits() > before;
	assert_int_equal(environments_read(environments, 8, &bytes, &size), -EAGAIN);
	assert_int_equal(read_one(9), 0); /* another user's */
	return has_waited;
}

/* What comes late is kept while another process is asked for. */
static void test_slow(void **state)
{
	enum { TIMES = 40, MOST = 20 };
	struct server server;
	unsigned waits = 0;
	(void)state;

	start_server(&server);
	for (int i = 0; i < TIMES; i++) {
		char *bytes;
		size_t size;

		waits += ask_slow(&server);
		sem_post(&server.answer);
		assert_int_equal(read_one(8), 0);
		assert_int_equal(environments_read(environments, 10, &bytes, &size), 0);
		assert_string_equal(bytes, "A=b");
		free(bytes);
	}
	assert_true(waits >= 1);
	assert_true(waits <= MOST); /* the user's share is spent */
	end_server(&server);
}

/* What was read before an exec is not given after it. */
static void test_forget(void **state)
{
	struct server server;
	char *bytes;
	size_t size;
	int fd;
	(void)state;

	start_server(&server);
	for (int i = 0; i < 2; i++) {
		ask_slow(&server);
		if (i == 0) /* while it is being read, or afterwards */
			environments_forget(environments, 10);
		sem_post(&server.answer);
		assert_int_equal(read_one(8), 0);
		if (i == 1)
			environments_forget(environments, 10);
		assert_int_equal(environments_read(environments, 10, &bytes, &size), -EAGAIN);
		fd = open(server.path, O_WRONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(read_one(8), 0);
		environments_forget(environments, 10);
	}
	end_server(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read), cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_slow), cmocka_unit_test(test_forget)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
