/* SPDX-License-Identifier: MIT */
/*
 * A frame whose saved frame pointer is in a page that has been dropped. It cannot be read, but no
 * caller's frame is found by it, so each path is whole.
 *
 * EXPECT: main;steady;drops;leaf
 */
#include "workload.h"

/* The frame takes three pages, so that the page of the slot, which is in the middle, has nothing
 * else. The function itself restores the register from another slot. */
__asm__(".pushsection .text\n"
	".type drops, @function\n"
	"drops: .cfi_startproc\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n"
	"sub $12296, %rsp\n.cfi_adjust_cfa_offset 12296\n"
	"mov %rbp, 4120(%rsp)\n.cfi_offset rbp, -8192\n"
	"lea 4120(%rsp), %rdi\n"
	"and $-4096, %rdi\n"
	"mov $4096, %esi\n"
	"mov $4, %edx\n"  /* MADV_DONTNEED */
	"mov $28, %eax\n" /* madvise */
	"syscall\n"
	"mov $200, %ebp\n"
	"1: call leaf\n"
	"dec %ebp\n"
	"jnz 1b\n"
	"mov 12296(%rsp), %rbp\n.cfi_same_value rbp\n"
	"add $12296, %rsp\n.cfi_adjust_cfa_offset -12296\n"
	"pop %rbp\n.cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n"
	".size drops, . - drops\n"
	".popsection");
void drops(void);

CALLEE void leaf(void)
{
	SPIN(SHORT);
}

static CALLEE void steady(void)
{
	for (;;) {
		drops();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
