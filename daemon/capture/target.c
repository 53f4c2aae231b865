/* SPDX-License-Identifier: MIT */
/* Finds, starts and watches the target; see target.h. */
#include "daemon/capture/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/capture/cgroup.h"

#define WITHOUT_LIBRARY 'w'

struct target {
	const struct options *options;
	pid_t child;	 /* the command; 0: none */
	int go;		 /* write end of a pipe: a byte lets the command call exec */
	char how;	 /* that byte: 0, or WITHOUT_LIBRARY */
	int exec_failed; /* read end of a pipe: gives the errno of a failed exec; a successful exec
			  * closes the other end */
	int cgroup;
	int epoll;
	int *pidfds;
	pid_t *pids;
	size_t n_pids;
};

static void explain(char **ret_error, const char *format, const char *what, int err)
{
	if (asprintf(ret_error, format, what, strerror(-err)) < 0)
		*ret_error = NULL;
}

/* Watches a process. 0 or -errno. */
static int watch(struct target *t, pid_t pid)
{
	struct epoll_event want = {.events = EPOLLIN};
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return errno == EINVAL ? -ESRCH : -errno; /* EINVAL: the id is that of a thread
							   * other than a process's first one */
	t->pidfds[t->n_pids] = fd;
	t->pids[t->n_pids++] = pid;
	return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &want) ? -errno : 0;
}

static int find_processes(struct target *t, char **ret_error)
{
	for (size_t i = 0; i < t->options->n_pids; i++) {
		char text[32];
		int err = watch(t, t->options->pids[i]);

		snprintf(text, sizeof(text), "%d", t->options->pids[i]);
		if (err == -ESRCH) {
			explain(ret_error,
				"there is no process %s (%s): give the id of a running process, not "
				"of a thread",
				text, err);
			return err;
		}
		if (err) {
			explain(ret_error, "cannot watch process %s: %s", text, err);
			return err;
		}
	}
	return 0;
}

/* --- a command ------------------------------------------------------------------------------- */

/* Puts a library in front of LD_PRELOAD. 0; another value without memory. */
static int preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char *all;

	if (asprintf(&all, "%s%s%s", library, others ? ":" : "", others ? others : "") < 0)
		return -1;
	return setenv("LD_PRELOAD", all, 1);
}

/* Preloads libstackalloc, which knows the mean distance of sampled allocations by its environment.
 * 0; another value without memory. */
static int preload_alloc(const struct options *options)
{
	char distance[32];

	snprintf(distance, sizeof(distance), "%" PRIu64, options->alloc_bytes);
	return preload(options->alloc_library) || setenv("STACKALLOC_BYTES", distance, 1);
}

/* Preloads the library that counts calls, in front of other libraries, whose functions of MPI it
 * calls. 0; another value without memory. */
static int preload_calls(const struct options *options)
{
	return preload(options->calls_library) ||
	       setenv("STACKMPI_SOCKET", options->calls_socket, 1);
}

/* Runs in the child: waits for target_start(), then executes the command. */
static void become_command(const struct options *options, int go, int failed)
{
	char **command = options->command;
	char byte;
	int err = 0;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(go, &byte, 1) != 1)
		_exit(1); /* stackd gave up */
	prctl(PR_SET_PDEATHSIG, 0);
	if ((options->calls_library && preload_calls(options)) ||
	    (options->alloc_bytes && byte != WITHOUT_LIBRARY && preload_alloc(options)) ||
	    execvp(command[0], command))
		err = errno;
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

static int start_command(struct target *t, char **ret_error)
{
	int go[2], failed[2], err;

	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC)) {
		explain(ret_error, "cannot start %s: %s", t->options->command[0], -errno);
		return -errno;
	}
	fflush(NULL);
	t->child = fork();
	if (t->child == 0) {
		close(go[1]);
		become_command(t->options, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	t->go = go[1];
	t->exec_failed = failed[0];
	if (t->child < 0) {
		t->child = 0;
		explain(ret_error, "cannot start %s: %s", t->options->command[0], -errno);
		return -errno;
	}
	err = watch(t, t->child);
	if (err)
		explain(ret_error, "cannot watch %s: %s", t->options->command[0], err);
	return err;
}

void target_leave_out_library(struct target *t)
{
	t->how = WITHOUT_LIBRARY;
}

int target_start(struct target *t)
{
	int err = 0;

	if (!t->child)
		return 0;
	if (write(t->go, &t->how, 1) != 1)
		return -errno;
	if (read(t->exec_failed, &err, sizeof(err)) == sizeof(err))
		return -err;
	return 0;
}

bool target_command_cpu(struct target *t, uint64_t *ret_ns)
{
	struct rusage used;

	if (!t->child || wait4(t->child, NULL, WNOHANG, &used) != t->child)
		return false;
	t->child = 0;
	*ret_ns = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
		  (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
	return true;
}

/* --- all of them ----------------------------------------------------------------------------- */

int target_new(const struct options *options, struct target **ret_target, char **ret_error)
{
	size_t room = options->n_pids + 1;
	struct target *t = calloc(1, sizeof(*t));
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->options = options;
	t->go = t->exec_failed = t->cgroup = -1;
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	t->pidfds = calloc(room, sizeof(*t->pidfds));
	t->pids = calloc(room, sizeof(*t->pids));
	if (t->epoll < 0 || !t->pidfds || !t->pids)
		err = -ENOMEM;
	else if (options->target == TARGET_PIDS)
		err = find_processes(t, ret_error);
	else if (options->target == TARGET_COMMAND)
		err = start_command(t, ret_error);
	else if (options->target == TARGET_CGROUP)
		err = cgroup_open(options->cgroup, &t->cgroup, ret_error);
	if (err) {
		target_free(t);
		return err;
	}
	*ret_target = t;
	return 0;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

void target_free(struct target *t)
{
	if (!t)
		return;
	close_if_open(t->go);
	if (t->child && waitpid(t->child, NULL, WNOHANG) == 0)
		kill(t->child, SIGTERM);
	close_if_open(t->exec_failed);
	close_if_open(t->cgroup);
	for (size_t i = 0; i < t->n_pids; i++)
		close_if_open(t->pidfds[i]);
	close_if_open(t->epoll);
	free(t->pidfds);
	free(t->pids);
	free(t);
}

const pid_t *target_pids(const struct target *t, size_t *ret_count)
{
	*ret_count = t->n_pids;
	return t->pids;
}

int target_cgroup_fd(const struct target *t)
{
	return t->cgroup;
}

int target_poll_fd(const struct target *t)
{
	return t->n_pids ? t->epoll : -1;
}

bool target_has_ended(struct target *t)
{
	bool all = t->n_pids > 0;

	for (size_t i = 0; i < t->n_pids; i++) {
		struct pollfd ended = {.fd = t->pidfds[i], .events = POLLIN};

		if (ended.fd < 0)
			continue;
		if (poll(&ended, 1, 0) != 1) {
			all = false;
			continue;
		}
		close(t->pidfds[i]); /* leaves the epoll set too */
		t->pidfds[i] = -1;
	}
	return all;
}

uint64_t target_threads(const struct target *t)
{
	uint64_t total = 0;

	for (size_t i = 0; i < t->n_pids; i++) {
		char path[64];
		struct stat st;

		/* The folder has a subfolder for each thread, and each adds a link. */
		snprintf(path, sizeof(path), "/proc/%d/task", t->pids[i]);
		if (!stat(path, &st) && st.st_nlink > 2)
			total += st.st_nlink - 2;
	}
	return total;
}
