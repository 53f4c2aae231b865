/* SPDX-License-Identifier: MIT */
/*
 * A workload is a program whose true call path is known at every instant: each of its functions
 * can be reached by exactly one path, so the function that a sample hits determines the call path.
 * The comment at the head of each source declares the paths, where the live tests read them:
 *
 *   EXPECT: main;steady;a;leaf      a path, root to leaf; each of its beginnings that reaches a
 *                                   function whose name starts with `steady` is right, too
 *
 * A path starts below `_start` and libc's part, which are implied, unless its first word is one
 * of @thread (a thread's entry), @context (a makecontext() entry) and @bottom (the path begins with
 * the word behind it, where a stack of the program's own begins). The words of a path:
 *   name      a function        a|b       either name        name{8}   eight times
 *   @sigret   libc's signal trampoline    @plt      a linkage stub of the program
 *   @vdso     a frame in the vDSO         @lib      a frame in a shared library
 *   @loader   a frame in the dynamic loader, which a call's first use of a stub leads to
 *   @exe      a frame of the program without a name         WORD+     once or more
 * A name also stands for the function's cold part, and for the name without what Rust adds.
 *
 *   TORN: a;b                       functions that replace the stack under themselves: within these
 *                                   their unwind information is not true, for any unwinder
 *
 *   BEGIN: main;a                   a path of the program's start whose functions are in other
 *                                   paths, too: main() calls one of them once
 *
 *   COVERED: a;b                    the frames that a path begins with while what is above them in
 *                                   the stack cannot be read
 *
 * To keep the paths true in optimised code, functions carry CALLEE (no inlining, cloning or
 * interprocedural tricks), and calls are followed by KEEP, so that they do not become jumps.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#define CALLEE __attribute__((noipa))
#define KEEP   __asm__ volatile("" ::: "memory")

/* Busy for `n` turns without touching memory. */
#define SPIN(n)                                                                                    \
	do {                                                                                       \
		for (unsigned spin_ = 0; spin_ < (n); spin_++)                                     \
			__asm__ volatile("");                                                      \
	} while (0)

/* A leaf spins this long a call: short enough that callers' prologues and epilogues get their
 * share of the samples, too. */
#define SHORT 40
#define LONG  2000000

static inline void workload_end(int signal)
{
	(void)signal;
	_exit(0);
}

/* A workload that hardly runs ends after this many times its CPU time. */
#define WORKLOAD_MAX_WALL 60u

/* Ends the process when it has had the seconds in argv[1] (default 5, may have a fraction) of CPU
 * time, then says that it is steady. CPU time and not wall time, since samples are taken of CPU
 * time: how many a test gets then does not depend on what else the machine does. */
static inline void workload_ready(int argc, char **argv)
{
	const double seconds = argc > 1 ? atof(argv[1]) : 5;
	struct itimerval limit = {};
	static struct sigaction action;

	action.sa_handler = workload_end;
	sigaction(SIGPROF, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	alarm((unsigned)(seconds * WORKLOAD_MAX_WALL) + 1);
	limit.it_value.tv_sec = (time_t)seconds;
	limit.it_value.tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6);
	setitimer(ITIMER_PROF, &limit, NULL);
	if (write(STDOUT_FILENO, "READY\n", 6) != 6)
		_exit(1);
}

#endif
