/* SPDX-License-Identifier: MIT */
/*
 * Two coroutines on stacks of their own beside the main one, switched all the time.
 *
 * EXPECT: main;steady;main_leaf
 * EXPECT: main;steady;switch_main;@lib+
 * EXPECT: main;steady;switch_main;@plt
 * EXPECT: @context;steady_one;one_middle;one_leaf
 * EXPECT: @context;steady_one;switch_one;@lib+
 * EXPECT: @context;steady_one;switch_one;@plt
 * EXPECT: @context;steady_two;two_leaf
 * EXPECT: @context;steady_two;switch_two;@lib+
 * EXPECT: @context;steady_two;switch_two;@plt
 * TORN: swapcontext
 */
#include <ucontext.h>

#include "workload.h"

static ucontext_t main_context, one_context, two_context;

static CALLEE void main_leaf(void)
{
	SPIN(50 * SHORT);
}

static CALLEE void one_leaf(void)
{
	SPIN(50 * SHORT);
}

static CALLEE void one_middle(void)
{
	one_leaf();
	KEEP;
}

static CALLEE void two_leaf(void)
{
	SPIN(50 * SHORT);
}

static CALLEE void switch_one(void)
{
	swapcontext(&one_context, &two_context);
	KEEP;
}

static CALLEE void switch_two(void)
{
	swapcontext(&two_context, &main_context);
	KEEP;
}

static CALLEE void switch_main(void)
{
	swapcontext(&main_context, &one_context);
	KEEP;
}

static CALLEE void steady_one(void)
{
	for (;;) {
		one_middle();
		KEEP;
		switch_one();
		KEEP;
	}
}

static CALLEE void steady_two(void)
{
	for (;;) {
		two_leaf();
		KEEP;
		switch_two();
		KEEP;
	}
}

static void prepare(ucontext_t *context, void (*entry)(void))
{
	getcontext(context);
	context->uc_stack.ss_sp = malloc(65536);
	context->uc_stack.ss_size = 65536;
	context->uc_link = NULL;
	if (!context->uc_stack.ss_sp)
		_exit(1);
	makecontext(context, entry, 0);
}

static CALLEE void steady(void)
{
	for (;;) {
		main_leaf();
		KEEP;
		switch_main();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	prepare(&one_context, steady_one);
	prepare(&two_context, steady_two);
	workload_ready(argc, argv);
	steady();
	return 0;
}
