/* SPDX-License-Identifier: MIT */
/* The process that makes workers, and requests to it; see fork_server.h. */
#include "daemon/worker/fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/worker/sandbox.h"
#include "daemon/worker/worker_page.h"

#define PRIORITY (-10) /* as stackd's loop has it (own_limits.c) */

struct fork_server {
	int socket;
	pid_t pid;
	unsigned gaps;
	pthread_mutex_t lock; /* one request at a time */
};

enum what { SPAWN, SPAWN_FIRST, END };

struct request {
	uint32_t what; /* enum what */
	pid_t pid;
};

struct answer {
	int32_t result; /* pid of SPAWN, or -errno */
	int32_t status;
	uint64_t cpu_ns;
};

#define MAX_FDS 2

/* --- messages -------------------------------------------------------------------------------- */

union control {
	char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
	struct cmsghdr align;
};

static int send_request(int socket, const struct request *request, const int *fds, size_t n_fds)
{
	struct iovec part = {(void *)(uintptr_t)request, sizeof(*request)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {0};

	if (n_fds) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Returns 1, 0 at the end, or -errno. */
static int receive_request(int socket, struct request *ret_request, int ret_fds[MAX_FDS])
{
	struct iovec part = {ret_request, sizeof(*ret_request)};
	union control control = {0};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	ret_fds[0] = ret_fds[1] = -1;
	if (n <= 0)
		return n < 0 ? -errno : 0;
	c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return n == sizeof(*ret_request);
}

/* --- the server's process -------------------------------------------------------------------- */

static void be_worker(fork_server_run_fn *run, const int *fds, bool keeps_priority)
{
	void *page;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (!keeps_priority)
		setpriority(PRIO_PROCESS, 0, 0);
	page = mmap(NULL, sizeof(struct worker_page), PROT_READ | PROT_WRITE, MAP_SHARED, fds[1],
		    0);
	close(fds[1]);
	if (page == MAP_FAILED || sandbox_worker())
		_exit(1);
	run(fds[0], page);
	_exit(0);
}

static struct answer spawn(int socket, fork_server_run_fn *run, const int *fds, bool keeps_priority)
{
	pid_t pid = fds[0] < 0 || fds[1] < 0 ? -1 : fork();

	if (!pid) {
		close(socket);
		be_worker(run, fds, keeps_priority);
	}
	return (struct answer){.result = pid < 0 ? -EAGAIN : pid};
}

static struct answer end(pid_t pid)
{
	struct answer answer = {0};
	struct rusage used = {0};

	kill(pid, SIGKILL);
	while (wait4(pid, &answer.status, 0, &used) < 0) {
		if (errno == EINTR)
			continue;
		answer.result = -errno;
		break;
	}
	answer.cpu_ns = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
			(uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
	return answer;
}

static void serve(int socket, fork_server_run_fn *run)
{
	struct request request;
	int fds[MAX_FDS];

	while (receive_request(socket, &request, fds) > 0) {
		struct answer answer;

		if (request.what == END)
			answer = end(request.pid);
		else
			answer = spawn(socket, run, fds, request.what == SPAWN_FIRST);
		for (int i = 0; i < MAX_FDS; i++)
			if (fds[i] >= 0)
				close(fds[i]);
		if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			break;
	}
}

/* Where memory is short, workers go first: their files are refused, and stackd goes on. */
static void be_first_to_go(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "500", 3) < 0)
		errno = 0; /* then they go by their size */
	close(fd);
}

/* Ends when stackd's end of the socket is closed, and by no signal of a terminal or of systemd, so
 * that the last samples have their names. */
static void be_server(int socket, fork_server_run_fn *run)
{
	static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,	 SIGQUIT, SIGTSTP,
				      SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	unsigned gaps;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	setsid();
	prctl(PR_SET_NAME, "stackd-worker", 0, 0, 0);
	socket = dup2(socket, 3);
	null = dup2(null, 0);
#ifndef __SANITIZE_ADDRESS__
	dup2(null, 1);
	dup2(null, 2);
#endif
	close_range(4, ~0u, 0);
	if (getpriority(PRIO_PROCESS, 0) == 0)
		setpriority(PRIO_PROCESS, 0, PRIORITY);
	be_first_to_go();
	gaps = sandbox_fork_server();
	if (send(socket, &gaps, sizeof(gaps), MSG_NOSIGNAL) == sizeof(gaps))
		serve(socket, run);
	_exit(0);
}

/* --- in stackd ------------------------------------------------------------------------------- */

int fork_server_new(fork_server_run_fn *run, struct fork_server **ret_server)
{
	struct fork_server *s = calloc(1, sizeof(*s));
	int pair[2];

	if (!s)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(s);
		return -errno;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->socket = pair[0];
	s->pid = fork();
	if (!s->pid) {
		close(pair[0]);
		be_server(pair[1], run);
	}
	close(pair[1]);
	if (s->pid < 0 || recv(s->socket, &s->gaps, sizeof(s->gaps), 0) != sizeof(s->gaps)) {
		fork_server_free(s);
		return -ECHILD;
	}
	*ret_server = s;
	return 0;
}

void fork_server_free(struct fork_server *s)
{
	if (!s)
		return;
	close(s->socket);
	if (s->pid > 0)
		waitpid(s->pid, NULL, 0);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

unsigned fork_server_gaps(const struct fork_server *s)
{
	return s->gaps;
}

pid_t fork_server_pid(const struct fork_server *s)
{
	return s->pid;
}

static int ask(struct fork_server *s, const struct request *request, const int *fds, size_t n_fds,
	       struct answer *ret_answer)
{
	ssize_t n = 0;
	int err;

	pthread_mutex_lock(&s->lock);
	err = send_request(s->socket, request, fds, n_fds);
	while (!err && (n = recv(s->socket, ret_answer, sizeof(*ret_answer), 0)) < 0)
		err = errno == EINTR ? 0 : -errno;
	pthread_mutex_unlock(&s->lock);
	if (!err && n != sizeof(*ret_answer))
		err = -ECHILD;
	return err;
}

int fork_server_spawn(struct fork_server *s, bool keeps_priority, int page_fd, pid_t *ret_pid,
		      int *ret_socket)
{
	const struct request request = {.what = keeps_priority ? SPAWN_FIRST : SPAWN};
	struct answer answer;
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	err = ask(s, &request, (const int[]){pair[1], page_fd}, 2, &answer);
	close(pair[1]);
	if (!err && answer.result < 0)
		err = answer.result;
	if (err) {
		close(pair[0]);
		return err;
	}
	*ret_pid = answer.result;
	*ret_socket = pair[0];
	return 0;
}

int fork_server_end(struct fork_server *s, pid_t pid, int *ret_status, uint64_t *ret_cpu_ns)
{
	const struct request request = {.what = END, .pid = pid};
	struct answer answer = {0};
	int err = ask(s, &request, NULL, 0, &answer);

	*ret_status = answer.status;
	*ret_cpu_ns = answer.cpu_ns;
	return err ? err : answer.result;
}
