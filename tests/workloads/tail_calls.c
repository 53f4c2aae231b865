/* SPDX-License-Identifier: MIT */
/*
 * Calls that became jumps: the jumping function leaves no frame, and the true stack does not
 * have it.
 *
 * EXPECT: main;steady;first
 * EXPECT: main;steady;second
 * EXPECT: main;steady;third;leaf
 */
#include "workload.h"

static CALLEE unsigned leaf(unsigned n)
{
	SPIN(n);
	return n;
}

static CALLEE unsigned third(unsigned n)
{
	unsigned m = leaf(n);

	KEEP;
	return m + 1;
}

static CALLEE unsigned second(unsigned n)
{
	return third(n + 1);
}

static CALLEE unsigned first(unsigned n)
{
	return second(n + 1);
}

static CALLEE void steady(void)
{
	for (;;) {
		first(SHORT);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
