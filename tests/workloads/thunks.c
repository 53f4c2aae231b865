/* SPDX-License-Identifier: MIT */
/*
 * Returns and indirect calls by gcc's thunks (-mfunction-return=thunk, -mindirect-branch=thunk),
 * which call what never returns to them. A thunk runs in the place of the function that jumps to
 * it.
 *
 * EXPECT: main;steady;__x86_return_thunk
 * EXPECT: main;steady;alpha;__x86_return_thunk
 * EXPECT: main;steady;alpha;beta;leaf|__x86_return_thunk|__x86_indirect_thunk_rax
 */
#include "workload.h"

typedef void fn(void);

static CALLEE void leaf(void)
{
	SPIN(SHORT);
}

static CALLEE void beta(fn *const volatile *function)
{
	(*function)();
	KEEP;
}

static CALLEE void alpha(fn *const volatile *function)
{
	beta(function);
	KEEP;
}

static CALLEE void steady(fn *const volatile *function)
{
	for (;;) {
		alpha(function);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	static fn *const volatile function = leaf;

	workload_ready(argc, argv);
	steady(&function);
	return 0;
}
