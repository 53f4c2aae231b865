/* SPDX-License-Identifier: MIT */
/*
 * Names as two generations of Rust compilers make them.
 *
 * EXPECT: main;steady;mycrate::outer;mycrate::shape::area
 */
#include "workload.h"

void rust_leaf(void) __asm__("_ZN7mycrate5shape4area17h0123456789abcdefE");
void rust_outer(void) __asm__("_RNvCs15kBYyAo9fc_7mycrate5outer");

CALLEE void rust_leaf(void)
{
	SPIN(SHORT);
}

CALLEE void rust_outer(void)
{
	rust_leaf();
	KEEP;
}

static CALLEE void steady(void)
{
	for (;;) {
		rust_outer();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
