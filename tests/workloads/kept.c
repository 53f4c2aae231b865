/* SPDX-License-Identifier: MIT */
/*
 * Assembly that has its CFA in a register that functions need not keep, and calls parts of its own
 * that keep it: by themselves, by what they call in turn, and by what they jump to.
 *
 * EXPECT: main;steady;counts_on_rax;keeps_rax
 * EXPECT: main;steady;counts_on_r9;keeps_r9;keeps_r9_too
 * EXPECT: main;steady;counts_on_rdx;jumped_to
 * EXPECT: main;steady;counts_on_rdx;jumps
 */
#include "workload.h"

/* A function whose stack is realigned, while its CFA is in a register: it calls another one. */
#define COUNTS_ON(name, reg, number, callee)                                                       \
	__asm__(".pushsection .text\n.globl " name "\n.type " name ", @function\n" name ":\n"      \
		".cfi_startproc\n"                                                                 \
		"lea (%rsp), %" reg "\n"                                                           \
		".cfi_def_cfa " number ", 8\n"                                                     \
		"push %rbx\n"                                                                      \
		".cfi_offset rbx, -16\n"                                                           \
		"sub $200, %rsp\n"                                                                 \
		"and $-128, %rsp\n"                                                                \
		"mov $3, %ebx\n"                                                                   \
		"1: call " callee "\n"                                                             \
		"dec %ebx\n"                                                                       \
		"jnz 1b\n"                                                                         \
		"mov -8(%" reg "), %rbx\n"                                                         \
		"lea (%" reg "), %rsp\n"                                                           \
		".cfi_def_cfa_register rsp\n"                                                      \
		"ret\n"                                                                            \
		".cfi_endproc\n.size " name ", . - " name "\n.popsection")

/* A function that needs no frame, but for what it calls. */
#define PART(name, body)                                                                           \
	__asm__(".pushsection .text\n.type " name ", @function\n" name ":\n"                       \
		".cfi_startproc\n" body ".cfi_endproc\n.size " name ", . - " name "\n.popsection")

#define TURN "mov $40, %ecx\n2: dec %ecx\njnz 2b\n"

void counts_on_rax(void), counts_on_r9(void), counts_on_rdx(void);

COUNTS_ON("counts_on_rax", "rax", "rax", "keeps_rax");
COUNTS_ON("counts_on_r9", "r9", "r9", "keeps_r9");
COUNTS_ON("counts_on_rdx", "rdx", "rdx", "jumps");

PART("keeps_rax", TURN "ret\n");
PART("keeps_r9", "sub $24, %rsp\n.cfi_adjust_cfa_offset 24\n"
		 "mov $2, %r8d\n3: call keeps_r9_too\ndec %r8d\njnz 3b\n"
		 "add $24, %rsp\n.cfi_adjust_cfa_offset -24\nret\n");
PART("keeps_r9_too", TURN "ret\n");
PART("jumps", "xor %esi, %esi\njmp jumped_to\n");
PART("jumped_to", TURN "ret\n");

static CALLEE void steady(void)
{
	for (;;) {
		counts_on_rax();
		KEEP;
		counts_on_r9();
		KEEP;
		counts_on_rdx();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
