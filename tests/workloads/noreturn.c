/* SPDX-License-Identifier: MIT */
/*
 * Calls that never return, as the last instruction of their function and without padding behind:
 * the return address lies in the next function, which must not be named.
 *
 * EXPECT: main;steady;forever;leaf
 */
#include "workload.h"

static CALLEE void leaf(void)
{
	SPIN(SHORT);
}

static CALLEE __attribute__((noreturn)) void forever(void)
{
	for (;;) {
		leaf();
		KEEP;
	}
}

static CALLEE __attribute__((noreturn)) void steady(void)
{
	forever();
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
}
