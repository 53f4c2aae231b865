/* SPDX-License-Identifier: MIT */
/*
 * Functions that exist only in the debug information: shown as frames of their own.
 *
 * EXPECT: main;steady;outer;inlined_middle;inlined_leaf
 */
#include "workload.h"

static inline __attribute__((always_inline)) unsigned inlined_leaf(unsigned n)
{
	unsigned x = n;

	for (unsigned i = 0; i < LONG; i++)
		__asm__ volatile("imul %0, %0" : "+r"(x));
	return x;
}

static inline __attribute__((always_inline)) unsigned inlined_middle(unsigned n)
{
	return inlined_leaf(n + 3) + 1;
}

static CALLEE unsigned outer(unsigned n)
{
	return inlined_middle(n) * 5;
}

static CALLEE void steady(void)
{
	for (;;) {
		outer(7);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
