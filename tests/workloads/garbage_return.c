/* SPDX-License-Identifier: MIT */
/*
 * A function whose unwind information is wrong: it says that the return address is on top of the
 * stack, where the function keeps a word of its own. No word of them is an address of code, so a
 * walk out of it ends there; what it has found is no frame.
 *
 * EXPECT: main;steady;lying
 */
#include <stdint.h>

#include "workload.h"

__asm__(".pushsection .text\n"
	".type lying, @function\n"
	"lying: .cfi_startproc\n"
	"mov $2000, %eax\n"
	"sub $24, %rsp\n" /* and says nothing of it */
	"mov %rdi, (%rsp)\n"
	"1: dec %eax; jnz 1b\n"
	"add $24, %rsp\n"
	"ret\n"
	".cfi_endproc\n"
	".size lying, . - lying\n"
	".popsection");
void lying(uint64_t word);

static uint64_t data;

static CALLEE void steady(void)
{
	uint64_t *heap = malloc(sizeof(*heap));
	const uint64_t words[] = {1,
				  0x1234567,
				  0x7fffffffe000,
				  0xdead00000000,
				  0xdead000000000000,
				  0xffffffff81000000,
				  (uint64_t)(uintptr_t)&data,
				  (uint64_t)(uintptr_t)heap,
				  (uint64_t)(uintptr_t)&heap};

	for (unsigned i = 0;; i++) {
		lying(words[i % (sizeof(words) / sizeof(words[0]))]);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
