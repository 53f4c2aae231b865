/* SPDX-License-Identifier: MIT */
/* The fork server: what the first descriptors of its workers lead to, and its end. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
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

/* --- a worker that no signal ends ------------------------------------------------------------ */

/* A file system of one file. Its server never answers what a look at the file asks for. */
struct served {
	char folder[40], file[48];
	int device;
	pid_t asked_by; /* whose request it has left without an answer; 0: none yet */
	pthread_t thread;
};

static void reply(const struct served *s, uint64_t unique, int error, const void *body, size_t len)
{
	const struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + len), .error = error, .unique = unique};
	const struct iovec parts[] = {{(void *)(uintptr_t)&header, sizeof(header)},
				      {(void *)(uintptr_t)body, len}};

	if (writev(s->device, parts, 2) < 0)
		errno = 0; /* who asked has ended */
}

static void handle(struct served *s, const struct fuse_in_header *in)
{
	const struct fuse_init_out init = {
		.major = 7, .minor = 31, .max_write = 4096, .max_background = 4};
	const struct fuse_entry_out entry = {
		.nodeid = 2, .attr = {.ino = 2, .mode = S_IFREG | 0644, .nlink = 1, .size = 8}};
	const struct fuse_open_out opened = {0};

	if (in->opcode == FUSE_INIT)
		reply(s, in->unique, 0, &init, sizeof(init));
	else if (in->opcode == FUSE_LOOKUP)
		reply(s, in->unique, 0, &entry, sizeof(entry));
	else if (in->opcode == FUSE_OPEN)
		reply(s, in->unique, 0, &opened, sizeof(opened));
	else if (in->opcode == FUSE_GETATTR)
		__atomic_store_n(&s->asked_by, (pid_t)in->pid, __ATOMIC_SEQ_CST);
	else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_INTERRUPT)
		reply(s, in->unique, -ENOSYS, NULL, 0);
}

static void *serve(void *arg)
{
	static char request[1 << 17];
	struct served *s = arg;

	while (read(s->device, request, sizeof(request)) > 0)
		handle(s, (const struct fuse_in_header *)request);
	return NULL;
}

static bool begin_serving(struct served *s)
{
	char options[96];

	*s = (struct served){.folder = "/tmp/test-fork-server-XXXXXX"};
	s->device = geteuid() ? -1 : open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (s->device < 0 || !mkdtemp(s->folder))
		return false;
	snprintf(s->file, sizeof(s->file), "%s/file", s->folder);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 s->device);
	/* In a mount namespace of its own: whoever else looked there would wait for ever. */
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("x", s->folder, "fuse", MS_NOSUID | MS_NODEV, options)) {
		rmdir(s->folder);
		close(s->device);
		return false;
	}
	return !pthread_create(&s->thread, NULL, serve, s);
}

/* Unmounts it, by which the last requests fail, and the server's thread ends. */
static void end_serving(struct served *s)
{
	umount2(s->folder, MNT_FORCE);
	umount2(s->folder, MNT_DETACH);
	pthread_join(s->thread, NULL);
	close(s->device);
	rmdir(s->folder);
}

/* Looks at a file whose descriptor comes through the socket. */
static void look_at_file(int socket, void *page)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct stat st;
	int fd;

	(void)page;
	if (recvmsg(socket, &message, 0) != 1)
		return;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	if (!fstat(fd, &st))
		_exit(1);
}

static void send_file(int socket, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	char byte = 0;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	assert_int_equal(sendmsg(socket, &message, 0), 1);
}

/* Neither another worker nor the end of all waits for it. */
static void stuck_ones_are_left(void **state)
{
	struct fork_server *server;
	struct fork_child child, other;
	struct served served;
	int fd, status, page = memfd_create("page", MFD_CLOEXEC);
	uint64_t cpu_ns;

	(void)state;
	alarm(300); /* it waited for ever */
	assert_int_equal(ftruncate(page, sizeof(struct worker_page)), 0);
	assert_int_equal(fork_server_new(look_at_file, &server), 0);
	if (!begin_serving(&served)) {
		fork_server_free(server);
		skip();
	}
	assert_int_equal(fork_server_spawn(server, false, page, &child), 0);
	fd = open(served.file, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	send_file(child.socket, fd);
	while (__atomic_load_n(&served.asked_by, __ATOMIC_SEQ_CST) != child.pid)
		usleep(1000);
	assert_int_equal(fork_server_end(server, &child, &status, &cpu_ns), -EBUSY);
	close(child.socket);
	assert_int_equal(fork_server_spawn(server, false, page, &other), 0);
	close(other.socket);
	assert_int_equal(fork_server_end(server, &other, &status, &cpu_ns), 0);
	fork_server_free(server);
	assert_int_equal(kill(child.pid, 0), 0); /* it is still there */
	end_serving(&served);
	close(fd);
	close(page);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_no_replies),
		cmocka_unit_test(stopped_ones_are_left),
		cmocka_unit_test(stuck_ones_are_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
