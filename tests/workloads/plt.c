/* SPDX-License-Identifier: MIT */
/*
 * Calls through linkage stubs in a tight loop: many samples hit in the stub, where the CFA is a
 * DWARF expression. Built with and without indirect-branch tracking, which changes the stubs.
 *
 * EXPECT: main;steady;hop;far_leaf
 * EXPECT: main;steady;hop;@plt
 * EXPECT: main;steady;hop;@loader+
 * BEGIN: main;far_leaf
 */
#include "workload.h"

void far_leaf(void);

static CALLEE void hop(void)
{
	far_leaf();
	KEEP;
	far_leaf();
	KEEP;
}

static CALLEE void steady(void)
{
	for (;;) {
		hop();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	far_leaf(); /* bound here, so that the loop never enters the dynamic linker */
	workload_ready(argc, argv);
	steady();
	return 0;
}
