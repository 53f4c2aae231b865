/* SPDX-License-Identifier: MIT */
/*
 * Calls of bad pointers, of which 0 is one: the handler of SIGSEGV works, and returns in place of
 * the function that is not there. What it has interrupted is at no code at all.
 */
#include <stdint.h>
#include <ucontext.h>

#include "workload.h"

static volatile uintptr_t bad;

static CALLEE void handler_leaf(void)
{
	SPIN(10 * SHORT);
}

static CALLEE void handler(int number, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)number;
	(void)info;
	handler_leaf();
	r[REG_RIP] = *(greg_t *)r[REG_RSP];
	r[REG_RSP] += 8;
}

static CALLEE void calls(void)
{
	((void (*)(void))bad)();
	KEEP;
}

static CALLEE void steady(void)
{
	for (;;) {
		bad ^= 16;
		calls();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	if (sigaction(SIGSEGV, &action, NULL))
		return 1;
	workload_ready(argc, argv);
	steady();
	return 0;
}
