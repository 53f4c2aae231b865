/* SPDX-License-Identifier: MIT */
/*
 * Code without unwind information that keeps frame pointers, but for one function: there, and
 * before a frame pointer is set, a step by frame pointer misses the caller.
 *
 * EXPECT: main;steady;outer;inner
 * EXPECT: main;steady;chooser;chosen
 * EXPECT: main;steady;wrapper;bare
 */
#include "workload.h"

/* The compiler gives leaf functions a frame pointer only where it is used. */
#define USE_FRAME_POINTER __asm__ volatile("" ::"r"(__builtin_frame_address(0)))

static CALLEE void inner(void)
{
	USE_FRAME_POINTER;
	SPIN(SHORT);
}

static CALLEE void outer(void)
{
	inner();
	KEEP;
}

static CALLEE void chosen(void)
{
	USE_FRAME_POINTER;
	SPIN(SHORT);
}

static CALLEE void chooser(void (*volatile *choice)(void))
{
	(*choice)();
	KEEP;
}

CALLEE __attribute__((optimize("omit-frame-pointer"))) void bare(void)
{
	SPIN(SHORT);
}

static CALLEE void wrapper(void)
{
	bare();
	KEEP;
}

static CALLEE void steady(void)
{
	void (*volatile choice)(void) = chosen;

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
	steady();
	return 0;
}
