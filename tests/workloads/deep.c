/* SPDX-License-Identifier: MIT */
/*
 * A stack of 2,000 frames under the leaf.
 *
 * EXPECT: main;steady;dive{2000};leaf
 */
#include "workload.h"

static CALLEE void leaf(void)
{
	SPIN(LONG);
}

static CALLEE void dive(unsigned depth)
{
	if (depth == 1)
		leaf();
	else
		dive(depth - 1);
	KEEP;
}

static CALLEE void steady(void)
{
	for (;;) {
		dive(2000);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
