/* SPDX-License-Identifier: MIT */
/*
 * Stacks of 3,000, 20,000 and 100,000 frames, in turn, each with a leaf of its own; with a second
 * argument, of 150,000 frames. The functions on the way down and up are sampled, too. (The paths
 * are too long for EXPECT: tests/live/test_deep.py has them.)
 */
#include "workload.h"

static CALLEE void leaf_3000(void)
{
	SPIN(LONG);
}

static CALLEE void leaf_20000(void)
{
	SPIN(LONG);
}

static CALLEE void leaf_100000(void)
{
	SPIN(LONG);
}

static CALLEE void leaf_150000(void)
{
	SPIN(LONG);
}

static CALLEE void dive(unsigned depth, void (*leaf)(void))
{
	if (depth == 1)
		leaf();
	else
		dive(depth - 1, leaf);
	KEEP;
}

static CALLEE void steady(int is_beyond)
{
	static const struct {
		unsigned depth;
		void (*leaf)(void);
	} dives[] = {{3000, leaf_3000},
		     {20000, leaf_20000},
		     {100000, leaf_100000},
		     {150000, leaf_150000}};

	for (unsigned i = 0;; i++) {
		unsigned last = i % 3 == 2 && is_beyond ? 3 : i % 3;

		dive(dives[last].depth, dives[last].leaf);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady(argc > 2);
	return 0;
}
