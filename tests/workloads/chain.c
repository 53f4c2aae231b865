/* SPDX-License-Identifier: MIT */
/*
 * The plain case: three calls without frame pointers. Built in many ways (see the Makefile):
 * position-independent, fixed, static, static-pie, stripped.
 *
 * EXPECT: main;steady;alpha;beta;leaf
 */
#include "workload.h"

static CALLEE void leaf(void)
{
	SPIN(SHORT);
}

static CALLEE void beta(void)
{
	leaf();
	KEEP;
}

static CALLEE void alpha(void)
{
	beta();
	KEEP;
}

static CALLEE void steady(void)
{
	for (;;) {
		alpha();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
