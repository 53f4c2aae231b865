/* SPDX-License-Identifier: MIT */
/* Keeper and fork server, and stackd's requests to them; see fork_server.h. */
#include "daemon/worker/fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "daemon/worker/fd_pass.h"
#include "daemon/worker/sandbox.h"
#include "daemon/worker/worker_page.h"
#include "proc/proc_fs.h"

#define PRIORITY (-10) /* the priority of stackd's loop (own_limits.c) */

struct fork_server {
	int keeper; /* socket to the keeper */
	pid_t keeper_pid;
	int socket; /* socket to the server; -1: there is none */
	pid_t pid;
	unsigned gaps;
	unsigned restarts;		     /* accessed atomically, as is_lost */
	bool is_lost;			     /* server and keeper have died */
	pthread_mutex_t lock;		     /* one request at a time */
	fork_server_meanwhile_fn *meanwhile; /* NULL: none */
	void *arg;
	pthread_t waiter; /* the thread that has set it */
};

enum what {
	SPAWN,
	SPAWN_FIRST,
	END,
	SERVE, /* request to the keeper: end the old server, and start another one */
};

struct request {
	uint32_t what; /* enum what */
	pid_t pid;     /* the process to be ended, of END and SERVE; 0: none */
};

/* Processes that were killed and have not ended. */
#define MOST_LEFT 64 /* further ones stay zombies until the server ends */

struct left {
	pid_t pids[MOST_LEFT];
	size_t count;
};

#define END_LOOKS   1000 /* looks at a process that was killed: two seconds */
#define END_LOOK_NS 2000000

struct answer {
	int32_t result; /* pid of SPAWN and SERVE, or -errno */
	int32_t status;
	uint64_t cpu_ns;
};

/* --- messages -------------------------------------------------------------------------------- */

static int send_request(int socket, const struct request *request, const int *fds, size_t n_fds)
{
	return fd_pass_send(socket, request, sizeof(*request), fds, n_fds, 0);
}

/* Returns 1, 0 at the end, or -errno. */
static int receive_request(int socket, struct request *ret_request, int ret_fds[FD_PASS_MOST])
{
	ssize_t n = fd_pass_receive(socket, ret_request, sizeof(*ret_request), ret_fds);

	return n <= 0 ? (int)n : n == sizeof(*ret_request);
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

/* Waits for the end of a process that was killed, for END_LOOKS looks. Returns its pid, 0 (it has
 * not ended), or -1. */
static pid_t await_killed(pid_t pid, int *ret_status, struct rusage *ret_used)
{
	const struct timespec look = {.tv_nsec = END_LOOK_NS};
	pid_t ended = wait4(pid, ret_status, WNOHANG, ret_used);

	for (unsigned i = 0; ended == 0 && i < END_LOOKS; i++) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &look, NULL);
		ended = wait4(pid, ret_status, WNOHANG, ret_used);
	}
	return ended;
}

/* Reaps processes that were left behind and have ended since; keeps those that have not. */
static void reap_left(struct left *left)
{
	size_t kept = 0;

	for (size_t i = 0; i < left->count; i++)
		if (wait4(left->pids[i], NULL, WNOHANG, NULL) == 0)
			left->pids[kept++] = left->pids[i];
	left->count = kept;
}

/* Kills a process. One that does not end, since it waits for a disk or a server in a way that no
 * signal ends, is left behind: -EBUSY. */
static struct answer end(struct left *left, pid_t pid)
{
	struct answer answer = {0};
	struct rusage used = {0};
	pid_t ended;

	reap_left(left);
	kill(pid, SIGKILL);
	ended = await_killed(pid, &answer.status, &used);
	if (ended < 0)
		answer.result = -errno;
	if (ended == 0) {
		answer.result = -EBUSY;
		if (left->count < MOST_LEFT)
			left->pids[left->count++] = pid;
	}
	answer.cpu_ns = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
			(uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
	return answer;
}

static void close_all(const int *fds)
{
	for (int i = 0; i < FD_PASS_MOST; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void serve(int socket, fork_server_run_fn *run)
{
	struct left left = {0};
	struct request request;
	int fds[FD_PASS_MOST];

	while (receive_request(socket, &request, fds) > 0) {
		struct answer answer;

		if (request.what == END)
			answer = end(&left, request.pid);
		else
			answer = spawn(socket, run, fds, request.what == SPAWN_FIRST);
		close_all(fds);
		if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			break;
	}
}

/* --- the keeper's process -------------------------------------------------------------------- */

/* Ends the server `old`, if it is not 0, and forks another one, which serves requests from
 * `socket`. Returns the answer to SERVE. */
static struct answer start_serving(int keeper, fork_server_run_fn *run, struct left *left,
				   pid_t old, int socket)
{
	struct answer answer = {.result = -EAGAIN};
	pid_t pid;

	if (old)
		answer = end(left, old);
	pid = socket < 0 ? -1 : fork();
	if (!pid) {
		close(keeper);
		serve(socket, run);
		_exit(0);
	}
	answer.result = pid < 0 ? -EAGAIN : pid;
	return answer;
}

static void keep(int socket, fork_server_run_fn *run)
{
	struct left left = {0};
	struct request request;
	int fds[FD_PASS_MOST];

	while (receive_request(socket, &request, fds) > 0) {
		struct answer answer = start_serving(socket, run, &left, request.pid, fds[0]);

		close_all(fds);
		if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			break;
	}
	while (left.count == 0 && (wait4(-1, NULL, 0, NULL) > 0 || errno == EINTR))
		;
}

/* Makes the socket descriptor 3, and /dev/null descriptors 0 to 2, which workers inherit, because
 * what a library writes to standard error must not reach stackd as an answer. Closes all other
 * descriptors. Both are first moved to higher numbers, since each can have a number that the other
 * one is to get. Returns the socket. */
static int take_first_descriptors(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int away = fcntl(null, F_DUPFD_CLOEXEC, 4);

	socket = dup2(fcntl(socket, F_DUPFD_CLOEXEC, 4), 3);
	dup2(away, 0);
#ifndef __SANITIZE_ADDRESS__
	dup2(away, 1);
	dup2(away, 2);
#endif
	close_range(4, ~0u, 0);
	return socket;
}

/*
 * The keeper ends when stackd's end of the socket is closed, and ignores signals of a terminal or
 * of systemd, so that the last samples still get their names.
 *
 * The workers have a process group of their own, but stackd's session, because the kernel shares
 * each CPU among the sessions first (autogroup, sched(7)), and priorities hold within a session
 * only. In a session of their own, workers at the loop's priority would still wait for any busy
 * session of the machine, for 5 ms of CPU time a second at worst, and the loop would wait for them.
 */
static void be_keeper(int socket, fork_server_run_fn *run)
{
	static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,	 SIGQUIT, SIGTSTP,
				      SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM};
	unsigned gaps;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	setpgid(0, 0);
	prctl(PR_SET_NAME, "stackd-worker", 0, 0, 0);
	socket = take_first_descriptors(socket);
	if (getpriority(PRIO_PROCESS, 0) == 0)
		setpriority(PRIO_PROCESS, 0, PRIORITY);
	gaps = sandbox_fork_server();
	if (send(socket, &gaps, sizeof(gaps), MSG_NOSIGNAL) == sizeof(gaps))
		keep(socket, run);
	_exit(0);
}

/* --- in stackd ------------------------------------------------------------------------------- */

void fork_server_use_meanwhile(struct fork_server *s, fork_server_meanwhile_fn *take, void *arg)
{
	s->waiter = pthread_self();
	s->arg = arg;
	__atomic_store_n(&s->meanwhile, take, __ATOMIC_RELEASE);
}

void fork_server_meanwhile(const struct fork_server *s, bool is_waiting)
{
	fork_server_meanwhile_fn *take = __atomic_load_n(&s->meanwhile, __ATOMIC_ACQUIRE);

	if (take && pthread_equal(s->waiter, pthread_self()))
		take(s->arg, is_waiting);
}

/* Takes the lock. Another thread can hold it while it waits for the server, so this calls
 * fork_server_meanwhile() again and again. */
static void take_lock(struct fork_server *s)
{
	struct timespec until;

	do {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += FORK_SERVER_LOOK_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (!pthread_mutex_clocklock(&s->lock, CLOCK_MONOTONIC, &until))
			return;
		fork_server_meanwhile(s, true);
	} while (true);
}

/* Sets the timeout of recv() on a socket to FORK_SERVER_LOOK_MS. */
static void set_timeout(int socket)
{
	const struct timeval timeout = {.tv_usec = FORK_SERVER_LOOK_MS * 1000};

	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
}

/* Returns whether a process is stopped, or sleeps. false if it waits for a CPU or a disk; also if
 * it sleeps while it `ends` another process, since it waits for that one. */
static bool is_halted(pid_t pid, bool ends)
{
	struct proc_fs_stat stat;

	return !proc_fs_stat("/proc", pid, &stat) &&
	       (stat.state == 'T' || stat.state == 't' || (stat.state == 'S' && !ends));
}

/* Waits for the answer of the keeper or the server, the process `pid`; `ends` as for is_halted().
 * 0; -ETIMEDOUT: the process hangs; or another -errno. */
static int await(const struct fork_server *s, int socket, pid_t pid, bool ends,
		 struct answer *ret_answer)
{
	unsigned halted = 0, looks = 0;
	ssize_t n;

	while ((n = recv(socket, ret_answer, sizeof(*ret_answer), 0)) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		fork_server_meanwhile(s, true);
		halted = is_halted(pid, ends) ? halted + 1 : 0;
		if (halted >= FORK_SERVER_LOOKS || ++looks >= FORK_SERVER_MOST_LOOKS)
			return -ETIMEDOUT;
	}
	return n == sizeof(*ret_answer) ? 0 : -ECHILD;
}

/* Sends a request to the keeper or the server, and waits for the answer. 0 or -errno: -ECHILD if it
 * has ended, or hangs. */
static int ask_process(const struct fork_server *s, int socket, pid_t pid,
		       const struct request *request, const int *fds, size_t n_fds,
		       struct answer *ret_answer)
{
	bool ends = request->what == END || (request->what == SERVE && request->pid);
	int err = send_request(socket, request, fds, n_fds);

	if (!err)
		err = await(s, socket, pid, ends, ret_answer);
	return err == -EPIPE || err == -ECONNRESET || err == -ETIMEDOUT ? -ECHILD : err;
}

/* Makes the kernel's OOM killer choose the server and its workers before stackd, so that files are
 * refused, but stackd goes on. */
static void let_go_first(pid_t pid)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "500", 3) < 0)
		errno = 0; /* without the setting, the OOM killer decides by size */
	close(fd);
}

/* Makes the keeper end the old server and start a new one. *ret_status: the old one's wait
 * status. */
static int start_server(struct fork_server *s, int *ret_status)
{
	const struct request request = {.what = SERVE, .pid = s->pid};
	struct answer answer = {0};
	int pair[2], err;

	if (s->socket >= 0)
		close(s->socket);
	s->socket = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	err = ask_process(s, s->keeper, s->keeper_pid, &request, &pair[1], 1, &answer);
	close(pair[1]);
	if (!err)
		__atomic_store_n(&s->pid, 0, __ATOMIC_RELAXED); /* it was reaped */
	if (!err && answer.result < 0)
		err = answer.result;
	if (err) {
		close(pair[0]);
		return err;
	}
	s->socket = pair[0];
	set_timeout(s->socket);
	__atomic_store_n(&s->pid, answer.result, __ATOMIC_RELAXED);
	*ret_status = answer.status;
	let_go_first(s->pid);
	return 0;
}

/* Starts another server after the old one has died. 0 or -errno. */
static int restart(struct fork_server *s)
{
	int status = 0, err = start_server(s, &status);

	if (err == -ECHILD)
		__atomic_store_n(&s->is_lost, true, __ATOMIC_RELAXED);
	if (err)
		return err;
	__atomic_add_fetch(&s->restarts, 1, __ATOMIC_RELAXED);
	log_event(LOG_EVENT_WORKER_RESTARTED,
		  "the process that makes workers has ended (%s %d), and was started again",
		  WIFSIGNALED(status) ? "signal" : "status",
		  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return 0;
}

static int start_keeper(struct fork_server *s, fork_server_run_fn *run)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	s->keeper = pair[0];
	s->keeper_pid = fork();
	if (!s->keeper_pid) {
		close(pair[0]);
		be_keeper(pair[1], run);
	}
	close(pair[1]);
	if (s->keeper_pid < 0 || recv(s->keeper, &s->gaps, sizeof(s->gaps), 0) != sizeof(s->gaps))
		return -ECHILD;
	set_timeout(s->keeper);
	return 0;
}

int fork_server_new(fork_server_run_fn *run, struct fork_server **ret_server)
{
	struct fork_server *s = calloc(1, sizeof(*s));
	int status, err;

	if (!s)
		return -ENOMEM;
	s->keeper = s->socket = -1;
	pthread_mutex_init(&s->lock, NULL);
	err = start_keeper(s, run);
	if (!err)
		err = start_server(s, &status);
	if (err) {
		fork_server_free(s);
		return err;
	}
	*ret_server = s;
	return 0;
}

/* Waits for the end of the keeper, which waits for the end of the server. stackd has no right to
 * kill them. If one of them is stopped, it ends once somebody lets it continue, for which stackd
 * does not wait. */
static void await_end(const struct fork_server *s)
{
	const struct timespec look = {.tv_nsec = FORK_SERVER_LOOK_MS * 1000000L};
	unsigned halted = 0, looks = 0;

	while (waitpid(s->keeper_pid, NULL, WNOHANG) == 0) {
		nanosleep(&look, NULL);
		halted = is_halted(s->keeper_pid, true) || (s->pid > 0 && is_halted(s->pid, false))
				 ? halted + 1
				 : 0;
		if (halted >= FORK_SERVER_LOOKS || ++looks >= FORK_SERVER_MOST_LOOKS)
			return;
	}
}

void fork_server_free(struct fork_server *s)
{
	if (!s)
		return;
	if (s->socket >= 0)
		close(s->socket);
	if (s->keeper >= 0)
		close(s->keeper);
	if (s->keeper_pid > 0)
		await_end(s);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

unsigned fork_server_gaps(const struct fork_server *s)
{
	return s->gaps;
}

void fork_server_pids(const struct fork_server *s, pid_t ret_pids[2])
{
	ret_pids[0] = s->keeper_pid;
	ret_pids[1] = __atomic_load_n(&s->pid, __ATOMIC_RELAXED);
}

unsigned fork_server_restarts(const struct fork_server *s)
{
	return __atomic_load_n(&s->restarts, __ATOMIC_RELAXED);
}

bool fork_server_is_lost(const struct fork_server *s)
{
	return __atomic_load_n(&s->is_lost, __ATOMIC_RELAXED);
}

/* Sends a request to the server, with the lock held. If the server has died, starts another one,
 * and repeats a request to fork a worker. */
static int ask_locked(struct fork_server *s, const struct request *request, const int *fds,
		      size_t n_fds, struct answer *ret_answer)
{
	int err = s->socket < 0
			  ? -ECHILD
			  : ask_process(s, s->socket, s->pid, request, fds, n_fds, ret_answer);

	if (err != -ECHILD || s->is_lost)
		return err;
	err = restart(s);
	if (err || request->what == END)
		return err ? err : -EHOSTDOWN;
	return ask_process(s, s->socket, s->pid, request, fds, n_fds, ret_answer);
}

int fork_server_spawn(struct fork_server *s, bool keeps_priority, int page_fd,
		      struct fork_child *ret_child)
{
	const struct request request = {.what = keeps_priority ? SPAWN_FIRST : SPAWN};
	struct answer answer;
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	take_lock(s);
	err = ask_locked(s, &request, (const int[]){pair[1], page_fd}, 2, &answer);
	ret_child->server = s->restarts;
	pthread_mutex_unlock(&s->lock);
	close(pair[1]);
	if (!err && answer.result < 0)
		err = answer.result;
	if (err) {
		close(pair[0]);
		return err;
	}
	ret_child->pid = answer.result;
	ret_child->socket = pair[0];
	return 0;
}

int fork_server_end(struct fork_server *s, const struct fork_child *child, int *ret_status,
		    uint64_t *ret_cpu_ns)
{
	const struct request request = {.what = END, .pid = child->pid};
	struct answer answer = {0};
	int err = -EHOSTDOWN;

	take_lock(s);
	if (child->server == s->restarts)
		err = ask_locked(s, &request, NULL, 0, &answer);
	pthread_mutex_unlock(&s->lock);
	*ret_status = answer.status;
	*ret_cpu_ns = answer.cpu_ns;
	return err == -ECHILD ? -EHOSTDOWN : err ? err : answer.result;
}
