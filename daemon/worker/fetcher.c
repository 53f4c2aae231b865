/* SPDX-License-Identifier: MIT */
/* The fetcher's process, and stackd's requests; see fetcher.h. */
#include "daemon/worker/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/own_cost.h"
#include "daemon/worker/fd_pass.h"
#include "daemon/worker/sandbox.h"
#include "sym/debuginfod.h"

#define SOCKET	 3  /* of the fetcher */
#define BUILD_ID 64 /* most bytes of a build-id */
#define LOOK_MS	 100
#define GRACE_NS UINT64_C(3000000000) /* after a fetch should have ended: it is killed then */

struct request {
	uint32_t number;
	uint32_t len;
	uint8_t build_id[BUILD_ID];
};

struct reply {
	uint32_t number; /* of the request */
	int32_t status;	 /* 0: with a descriptor; or -errno */
};

struct fetcher {
	int socket;
	uint32_t number; /* of the last request */
	uint64_t most_ns;
	bool is_over; /* it is not asked any more */

	pthread_mutex_t lock; /* guards what follows */
	pid_t pid;	      /* 0: it has ended, and was reaped */
	uint64_t cpu_ns;      /* its CPU time at the last look */
};

/* --- the fetcher's process ------------------------------------------------------------------- */

/* A debuginfod_limits.must_stop: the next request has come, or stackd has ended. */
static bool is_called(void *arg)
{
	struct pollfd socket = {.fd = SOCKET, .events = POLLIN};

	(void)arg;
	return poll(&socket, 1, 0) > 0;
}

/* Leaves the descriptors that stackd has open. */
static void take_descriptors(int socket)
{
	const int own = fcntl(socket, F_DUPFD_CLOEXEC, SOCKET + 1);
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int away = fcntl(null, F_DUPFD_CLOEXEC, SOCKET + 1);

	dup2(own, SOCKET);
	for (int i = 0; i < SOCKET; i++)
		dup2(away, i);
	close_range(SOCKET + 1, ~0u, 0);
}

static void answer(struct debuginfod *d, const struct request *request)
{
	const int fd = d ? debuginfod_fetch(d, request->build_id, request->len) : -ENOENT;
	const struct reply reply = {request->number, fd < 0 ? fd : 0};

	fd_pass_send(SOCKET, &reply, sizeof(reply), &fd, fd >= 0, 0);
	if (fd >= 0)
		close(fd);
}

static void be_fetcher(int socket, uint64_t most_bytes, uint64_t most_ns)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	const struct debuginfod_limits limits = {most_bytes, most_ns, is_called, NULL};
	struct debuginfod *d = NULL;
	char folder[PATH_MAX];
	struct request request;
	int fds[FD_PASS_MOST];

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	setpgid(0, 0);
	prctl(PR_SET_NAME, "stackd-fetcher", 0, 0, 0);
	take_descriptors(socket);
	if (!debuginfod_new(&d))
		debuginfod_limit(d, &limits);
	sandbox_fetcher(debuginfod_folder(folder, sizeof(folder)) ? folder : NULL);
	while (fd_pass_receive(SOCKET, &request, sizeof(request), fds) == sizeof(request) &&
	       request.len <= BUILD_ID)
		answer(d, &request);
	_exit(0);
}

/* --- in stackd ------------------------------------------------------------------------------- */

int fetcher_new(uint64_t most_bytes, uint64_t most_ns, struct fetcher **ret_fetcher)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	struct fetcher *fetcher;
	int pair[2];

	if (!servers || !*servers)
		return -ENOENT;
	fetcher = calloc(1, sizeof(*fetcher));
	if (!fetcher || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(fetcher);
		return fetcher ? -errno : -ENOMEM;
	}
	fetcher->most_ns = most_ns;
	pthread_mutex_init(&fetcher->lock, NULL);
	fetcher->pid = fork();
	if (!fetcher->pid) {
		close(pair[0]);
		be_fetcher(pair[1], most_bytes, most_ns);
	}
	close(pair[1]);
	fetcher->socket = pair[0];
	if (fetcher->pid < 0) {
		fetcher_free(fetcher);
		return -EAGAIN;
	}
	*ret_fetcher = fetcher;
	return 0;
}

/* Reaps the process if it has ended, and reads its CPU time. With the lock held. */
static void look(struct fetcher *fetcher)
{
	uint64_t cpu_ns = 0;
	struct rusage used;
	clockid_t clock;

	if (fetcher->pid <= 0)
		return;
	if (wait4(fetcher->pid, NULL, WNOHANG, &used) == fetcher->pid) {
		fetcher->pid = 0;
		cpu_ns = own_cost_used_ns(&used);
	} else if (!clock_getcpuclockid(fetcher->pid, &clock)) {
		cpu_ns = clock_ns(clock);
	}
	fetcher->cpu_ns = cpu_ns > fetcher->cpu_ns ? cpu_ns : fetcher->cpu_ns;
}

void fetcher_free(struct fetcher *fetcher)
{
	if (!fetcher)
		return;
	close(fetcher->socket);
	look(fetcher);
	pthread_mutex_destroy(&fetcher->lock);
	free(fetcher);
}

pid_t fetcher_pid(struct fetcher *fetcher)
{
	pid_t pid;

	pthread_mutex_lock(&fetcher->lock);
	pid = fetcher->pid;
	pthread_mutex_unlock(&fetcher->lock);
	return pid;
}

uint64_t fetcher_cpu_ns(struct fetcher *fetcher)
{
	uint64_t cpu_ns;

	if (!fetcher)
		return 0;
	pthread_mutex_lock(&fetcher->lock);
	look(fetcher);
	cpu_ns = fetcher->cpu_ns;
	pthread_mutex_unlock(&fetcher->lock);
	return cpu_ns;
}

uint64_t fetcher_resident_bytes(struct fetcher *fetcher)
{
	const pid_t pid = fetcher ? fetcher_pid(fetcher) : 0;

	return pid > 0 ? own_cost_child_bytes(pid) : 0;
}

/* Kills a fetcher that does not react, and says so. Nothing is fetched any more. A process ends
 * some time after the signal; a later look() reaps it. */
static int give_up(struct fetcher *fetcher, int err)
{
	fetcher->is_over = true;
	pthread_mutex_lock(&fetcher->lock);
	if (fetcher->pid > 0)
		kill(fetcher->pid, SIGKILL);
	look(fetcher);
	pthread_mutex_unlock(&fetcher->lock);
	log_warning("no debug files are fetched from debuginfod servers any more: %s",
		    err == -ETIMEDOUT ? "the process that fetches them did not answer"
		    : err == -EPIPE   ? "the process that fetches them has ended"
				      : strerror(-err));
	return err;
}

/* Returns whether an answer has the descriptor of a regular file, and no other, or an error. */
static bool is_proper(const struct reply *reply, int fd)
{
	struct stat st;

	if (reply->status)
		return reply->status < 0 && fd < 0;
	return fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);
}

/* Takes a reply. Returns whether it is that of the last request, whose result it then gives;
 * replies to earlier ones, which nobody waits for any more, are dropped. */
static bool take_reply(struct fetcher *fetcher, int *ret_result)
{
	struct reply reply;
	int fds[FD_PASS_MOST];
	const ssize_t n = fd_pass_receive(fetcher->socket, &reply, sizeof(reply), fds);

	for (int i = 1; i < FD_PASS_MOST; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (n == sizeof(reply) && is_proper(&reply, fds[0])) {
		if (reply.number == fetcher->number) {
			*ret_result = reply.status ? reply.status : fds[0];
			return true;
		}
		if (fds[0] >= 0)
			close(fds[0]);
		return false;
	}
	if (fds[0] >= 0)
		close(fds[0]);
	*ret_result = give_up(fetcher, n < 0 ? (int)n : n ? -EPROTO : -EPIPE);
	return true;
}

int fetcher_fetch(struct fetcher *fetcher, const uint8_t *build_id, size_t len,
		  bool (*must_stop)(void *arg), void *arg)
{
	struct request request = {.number = fetcher->number + 1, .len = (uint32_t)len};
	struct pollfd socket = {.fd = fetcher->socket, .events = POLLIN};
	const uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	int result;

	if (len > BUILD_ID)
		return -ENOENT;
	if (fetcher->is_over)
		return -EPIPE;
	memcpy(request.build_id, build_id, len);
	fetcher->number = request.number;
	if (fd_pass_send(fetcher->socket, &request, sizeof(request), NULL, 0, MSG_DONTWAIT))
		return give_up(fetcher, -EPIPE);
	do {
		if (must_stop(arg))
			return -ECANCELED;
		if (poll(&socket, 1, LOOK_MS) > 0 && take_reply(fetcher, &result))
			return result;
	} while (clock_ns(CLOCK_MONOTONIC) - begun_ns < fetcher->most_ns + GRACE_NS);
	return give_up(fetcher, -ETIMEDOUT);
}
