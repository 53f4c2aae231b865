/* SPDX-License-Identifier: MIT */
/* Watches the process that does the work; see watch.h. */
#include "mpi/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/message.h"

static const int asking[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/* Waits for the child, and passes signals on. Returns the child's status, as from waitpid(). */
static int wait_for(pid_t child, const sigset_t *signals)
{
	int status, number;

	for (;;) {
		pid_t ended = waitpid(child, &status, WNOHANG);

		if (ended == child)
			return status;
		if (ended < 0 && errno != EINTR)
			_exit(EXIT_FAILURE);
		number = sigwaitinfo(signals, NULL);
		if (number > 0 && number != SIGCHLD)
			kill(child, number);
	}
}

static _Noreturn void end_as(int status, const char *name)
{
	int number = WTERMSIG(status);
	sigset_t one;

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	if (number != SIGINT && number != SIGTERM) {
		message_set_name(name);
		message("killed by signal %d (%s)", number, strsignal(number));
	}
	signal(number, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	_exit(128 + number);
}

void watch_begin(const char *name)
{
	pid_t self = getpid(), child;
	sigset_t signals, before;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	for (size_t i = 0; i < sizeof(asking) / sizeof(*asking); i++)
		sigaddset(&signals, asking[i]);
	sigprocmask(SIG_BLOCK, &signals, &before);
	child = fork();
	if (child > 0)
		end_as(wait_for(child, &signals), name);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (child < 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != self) /* the parent has already ended */
		raise(SIGKILL);
}
