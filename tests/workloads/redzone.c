/* SPDX-License-Identifier: MIT */
/*
 * Leaves without a frame: one keeps everything in registers, one keeps its locals below the
 * stack pointer, in the red zone.
 *
 * EXPECT: main;steady;middle;bare_leaf
 * EXPECT: main;steady;middle;zone_leaf
 */
#include "workload.h"

static CALLEE unsigned bare_leaf(unsigned n)
{
	SPIN(n);
	return n;
}

static CALLEE unsigned zone_leaf(unsigned n)
{
	volatile unsigned locals[12];

	for (unsigned i = 0; i < 12; i++)
		locals[i] = n + i;
	for (unsigned i = 0; i < n; i++)
		locals[i % 12] += locals[(i + 5) % 12];
	return locals[0];
}

static CALLEE unsigned middle(unsigned n)
{
	unsigned sum = bare_leaf(n) + zone_leaf(n);

	KEEP;
	return sum;
}

static CALLEE void steady(void)
{
	for (;;) {
		middle(SHORT);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
