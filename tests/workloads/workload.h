/* SPDX-License-Identifier: MIT */
/*
 * What every workload shares.
 *
 * A workload is a program whose true call path is known at every instant: each of its functions
 * can be reached by exactly one path, so the function that a sample hits tells the whole chain.
 * The chains stand in the comment at the head of each source, where the live tests read them:
 *
 *   EXPECT: main;steady;a;leaf      a path, root to leaf; each of its beginnings that reaches a
 *                                   function whose name starts with `steady` is right, too
 *
 * A path starts below `_start` and libc's part, which are implied, unless its first word is one
 * of @thread (a thread's entry) and @context (a makecontext() entry). The words of a path:
 *   name      a function        a|b       either name        name{8}   eight times
 *   @sigret   libc's signal trampoline    @plt      a linkage stub of the program
 *   @vdso     a frame in the vDSO         @lib      a frame in a shared library
 *   @exe      a frame of the program without a name         WORD+     once or more
 * A name also stands for the function's cold part, and for the name without what Rust adds.
 *
 *   OUTSIDE: 5                      at most so many percent of the samples may lie outside of
 *                                   the steady state (no function named `steady...` in them)
 *
 *   TORN: 1                         at most so many percent of the samples may hit in a library
 *                                   while it replaces the stack under itself: there its unwind
 *                                   information is not true, for any unwinder
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

/* Ends the process after the seconds in argv[1] (default 5), then says that it is steady. */
static inline void workload_ready(int argc, char **argv)
{
	static struct sigaction action;

	action.sa_handler = workload_end;
	sigaction(SIGALRM, &action, NULL);
	alarm(argc > 1 ? (unsigned)atoi(argv[1]) : 5);
	if (write(STDOUT_FILENO, "READY\n", 6) != 6)
		_exit(1);
}

#endif
