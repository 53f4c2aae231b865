/* SPDX-License-Identifier: MIT */
/* The fork server: what the first descriptors of its workers lead to, and its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/worker/fork_server.h"
#include "daemon/worker/worker_page.h"

/* With sanitizers, their messages go where those of stackd go. */
#ifdef __SANITIZE_ADDRESS__
#define FIRST_FDS 1
#else
#define FIRST_FDS 3
#endif

/* Says for each of the first descriptors whether it is a socket, and writes to them all, as a
 * library of the worker could. */
static void run_worker(int socket, void *page)
{
	char is_socket[FIRST_FDS];
	struct stat st;

	(void)page;
	for (int i = 0; i < FIRST_FDS; i++) {
		is_socket[i] = fstat(i, &st) || S_ISSOCK(st.st_mode);
		if (write(i, "a message\n", 10) != 10)
			is_socket[i] = 1;
	}
	if (write(socket, is_socket, sizeof(is_socket)) < 0)
		_exit(1);
}

/* The first descriptors that the keeper gets are those that its own ends are moved to. */
static void messages_are_no_replies(void **state)
{
	const char none[FIRST_FDS] = {0};
	struct fork_server *server;
	char is_socket[FIRST_FDS + 1];
	int status, page = memfd_create("page", MFD_CLOEXEC);

	(void)state;
	page = fcntl(page, F_DUPFD_CLOEXEC, 20);
	for (int fd = 3; fd < 10; fd++)
		close(fd);
	assert_true(page >= 0);
	assert_int_equal(ftruncate(page, sizeof(struct worker_page)), 0);
	assert_int_equal(fork_server_new(run_worker, &server), 0);
	for (int i = 0; i < 3; i++) { /* each request is answered by what was asked for */
		struct fork_child child;
		uint64_t cpu_ns;

		assert_int_equal(fork_server_spawn(server, false, page, &child), 0);
		assert_true(child.pid > 0);
		assert_int_equal(read(child.socket, is_socket, sizeof(is_socket)), FIRST_FDS);
		assert_memory_equal(is_socket, none, FIRST_FDS);
		assert_int_equal(read(child.socket, is_socket, 1), 0);
		assert_int_equal(fork_server_end(server, &child, &status, &cpu_ns), 0);
		close(child.socket);
	}
	fork_server_free(server);
	close(page);
}

/* Its end does not wait for a process that somebody has stopped: the keeper, or the server, for
 * which the keeper waits. */
static void stopped_ones_are_left(void **state)
{
	(void)state;
	for (int which = 0; which < 2; which++) {
		struct fork_server *server;
		pid_t pids[2];

		assert_int_equal(fork_server_new(run_worker, &server), 0);
		fork_server_pids(server, pids);
		assert_int_equal(kill(pids[which], SIGSTOP), 0);
		fork_server_free(server);
		assert_int_equal(waitpid(pids[0], NULL, WNOHANG), 0);
		assert_int_equal(kill(pids[which], SIGCONT), 0);
		assert_int_equal(waitpid(pids[0], NULL, 0), pids[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_no_replies),
		cmocka_unit_test(stopped_ones_are_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
