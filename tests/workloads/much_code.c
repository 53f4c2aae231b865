/* SPDX-License-Identifier: MIT */
/*
 * A file with twelve megabytes of code that nothing covers: making its recipes takes more than a
 * second, and the program's stack is so large that its samples cannot wait for that. Built without
 * unwind tables.
 *
 * EXPECT: main;steady;alpha;beta;leaf
 */
#include <stdint.h>
#include <string.h>

#include "workload.h"

#define STACK_BYTES 100000

/* Functions that nobody calls: push %rbx; xor %eax,%eax; test %edi,%edi; pop %rbx; ret; nop */
__asm__(".pushsection .text.much, \"ax\", @progbits\n"
	".fill 1500000, 8, 0x90c35bff85c03153\n"
	".popsection\n");

static CALLEE void leaf(void)
{
	SPIN(SHORT);
}

static CALLEE void beta(void)
{
	leaf();
	KEEP;
}

static CALLEE void alpha(void)
{
	beta();
	KEEP;
}

static CALLEE void steady(void)
{
	for (;;) {
		alpha();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	volatile char stack[STACK_BYTES];

	memset((void *)(uintptr_t)stack, 1, sizeof(stack));
	workload_ready(argc, argv);
	steady();
	return stack[1];
}
