/* SPDX-License-Identifier: MIT */
/*
 * Code that is entered by jumps and never called, as that of GHC is: it runs in the frame of
 * run_code, whose call frame information is written as StgRun's, and has none of its own.
 *
 * EXPECT: main;steady;run_code
 * EXPECT: main;steady;code_one
 * EXPECT: main;steady;code_two;back
 */
#include "workload.h"

void run_code(void (*code)(void), void (*called)(void));
void code_one(void);

__asm__(".text\n"
	".type run_code, @function\n"
	"run_code: .cfi_startproc\n"
	"sub $1080, %rsp\n"
	".cfi_def_cfa rsp, 0\n"
	".cfi_offset rbx, 1024\n"
	".cfi_offset rbp, 1032\n"
	".cfi_offset rip, 1080\n"
	".cfi_escape 0x16, 0x07, 0x03, 0x77, 0xc0, 0x08\n" /* rsp = rsp + 1088 */
	"mov %rbx, 1024(%rsp)\n"
	"mov %rbp, 1032(%rsp)\n"
	"mov %rsi, %rbx\n"
	"jmp *%rdi\n"
	"run_return: mov 1024(%rsp), %rbx\n"
	"mov 1032(%rsp), %rbp\n"
	"add $1080, %rsp\n"
	"ret\n"
	".cfi_endproc\n"
	".size run_code, . - run_code\n"
	".balign 64\n"
	".type code_one, @function\n"
	"code_one: mov $60, %eax\n"
	"lea 64(%rsp), %rbp\n"
	"1: dec %eax; jnz 1b\n"
	"jmp code_two\n"
	".size code_one, . - code_one\n"
	".balign 64\n"
	".type code_two, @function\n"
	"code_two: call *%rbx\n"
	"sub $8, %rsp; call *%rbx; add $8, %rsp\n"
	"lea run_return(%rip), %rax\n"
	"jmp *%rax\n"
	".size code_two, . - code_two\n");

static CALLEE void back(void)
{
	SPIN(SHORT);
}

static CALLEE void steady(void)
{
	for (;;) {
		run_code(code_one, back);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
