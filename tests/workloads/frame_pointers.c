/* SPDX-License-Identifier: MIT */
/*
 * Code without unwind information, and whose instructions do not tell its frames, that keeps frame
 * pointers, but for one function: there, a step by frame pointer misses the caller.
 *
 * EXPECT: main;steady;outer;inner
 * EXPECT: main;steady;chooser;chosen
 * EXPECT: main;steady;wrapper;bare
 */
#include "workload.h"

/* Two ways that meet with different frames, of which one is never taken: an analysis of the
 * instructions has to abstain from here on. */
#define UNTOLD                                                                                     \
	__asm__ volatile("test %%rsp, %%rsp\n\tjnz 1f\n\t"                                         \
			 "lea 64(%%rbp), %%rbp\n\tlea 64(%%rsp), %%rsp\n1:" ::                     \
				 : "cc")

/* The compiler gives leaf functions a frame pointer only where it is used. */
#define USE_FRAME_POINTER __asm__ volatile("" ::"r"(__builtin_frame_address(0)))

static CALLEE void inner(void)
{
	UNTOLD;
	USE_FRAME_POINTER;
	SPIN(SHORT);
}

static CALLEE void outer(void)
{
	UNTOLD;
	inner();
	KEEP;
}

static CALLEE void chosen(void)
{
	UNTOLD;
	USE_FRAME_POINTER;
	SPIN(SHORT);
}

static CALLEE void chooser(void (*volatile *choice)(void))
{
	UNTOLD;
	(*choice)();
	KEEP;
}

CALLEE __attribute__((optimize("omit-frame-pointer"))) void bare(void)
{
	UNTOLD;
	SPIN(SHORT);
}

static CALLEE void wrapper(void)
{
	UNTOLD;
	bare();
	KEEP;
}

static CALLEE void steady(void)
{
	void (*volatile choice)(void) = chosen;

	UNTOLD;
	for (;;) {
		outer();
		chooser(&choice);
		wrapper();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	UNTOLD;
	steady();
	return 0;
}
