/* SPDX-License-Identifier: MIT */
/*
 * What programs that pretend to be an interpreter share: a process for each KIND of fault, of that
 * name, in which serve() has the "interpreter" call spin() in the end. The native path of each
 * sample is main, serve, the interpreter's function as often as it is active, spin, whatever the
 * structures say. Include it behind the other headers.
 */
#ifndef FAKED_H
#define FAKED_H

#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 100000000 /* of CPU time */

static const char *kind;

static int is(const char *fault)
{
	return !strcmp(kind, fault);
}

__attribute__((noinline)) void spin(void)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_nsec < SPIN_NS && !now.tv_sec);
}

static int serve(void);

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		kind = argv[i];
		if (!fork()) {
			prctl(PR_SET_NAME, kind);
			_exit(serve());
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

#endif
