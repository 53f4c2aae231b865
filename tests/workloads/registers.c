/* SPDX-License-Identifier: MIT */
/*
 * Functions that save all callee-saved registers and do little else: most samples hit in
 * prologues and epilogues, where the rule changes from instruction to instruction, and the
 * registers that an outer frame's rule needs stand in inner frames.
 *
 * EXPECT: main;steady;based;push_all;push_more;leaf
 */
#include <alloca.h>

#include "workload.h"

#define USE_ALL __asm__ volatile("" ::: "rbx", "rbp", "r12", "r13", "r14", "r15", "memory")

static CALLEE void leaf(void)
{
	__asm__ volatile("");
}

static CALLEE void push_more(void)
{
	USE_ALL;
	leaf();
	USE_ALL;
}

static CALLEE void push_all(void)
{
	USE_ALL;
	push_more();
	USE_ALL;
}

static CALLEE void based(unsigned n)
{
	volatile char *room = alloca(n);

	room[0] = 1;
	push_all();
	room[1] = 1;
}

static CALLEE void steady(void)
{
	for (unsigned n = 64;; n ^= 96) {
		based(n);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
