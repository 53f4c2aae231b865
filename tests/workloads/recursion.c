/* SPDX-License-Identifier: MIT */
/*
 * Recursion of a function upon itself, and of two functions in turn.
 *
 * EXPECT: main;steady;self{40};self_leaf
 * EXPECT: main;steady;ping;pong;ping;pong;ping;pong;ping;pong;pair_leaf
 */
#include "workload.h"

static CALLEE void self_leaf(void)
{
	SPIN(SHORT);
}

static CALLEE unsigned self(unsigned depth)
{
	unsigned below = 0;

	if (depth == 1)
		self_leaf();
	else
		below = self(depth - 1);
	KEEP;
	return below + 1;
}

static CALLEE void pair_leaf(void)
{
	SPIN(SHORT);
}

static CALLEE unsigned ping(unsigned depth);

static CALLEE unsigned pong(unsigned depth)
{
	unsigned below = 0;

	if (depth == 1)
		pair_leaf();
	else
		below = ping(depth - 1);
	KEEP;
	return below + 1;
}

static CALLEE unsigned ping(unsigned depth)
{
	unsigned below = pong(depth - 1);

	KEEP;
	return below + 1;
}

static CALLEE void steady(void)
{
	for (;;) {
		self(40);
		KEEP;
		ping(8);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
