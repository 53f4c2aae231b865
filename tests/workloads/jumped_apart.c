/* SPDX-License-Identifier: MIT */
/*
 * Code of a library that is entered by jumps and runs in the frame of this program's run_code, as
 * GHC's shared libraries do in that of its run-time system (jumped.c has both in one file).
 *
 * EXPECT: main;steady;run_code
 * EXPECT: main;steady;code_one
 * EXPECT: main;steady;code_two;back
 * EXPECT: main;steady;code_two;code_called
 * EXPECT: main;steady;code_two;code_end
 *
 * run_code leaves its own return address once more right below the true one, as bait: there is
 * where the return address would be if what code_two calls ran in run_code's frame.
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
	".cfi_offset r12, 1040\n"
	".cfi_offset rip, 1080\n"
	".cfi_escape 0x16, 0x07, 0x03, 0x77, 0xc0, 0x08\n" /* rsp = rsp + 1088 */
	"mov %rbx, 1024(%rsp)\n"
	"mov %rbp, 1032(%rsp)\n"
	"mov %r12, 1040(%rsp)\n"
	"mov 1080(%rsp), %rax\n"
	"mov %rax, 1072(%rsp)\n"
	"mov %rsi, %rbx\n"
	"lea 1f(%rip), %r12\n"
	"jmp *%rdi\n"
	"1: mov 1024(%rsp), %rbx\n"
	"mov 1032(%rsp), %rbp\n"
	"mov 1040(%rsp), %r12\n"
	"add $1080, %rsp\n"
	"ret\n"
	".cfi_endproc\n"
	".size run_code, . - run_code\n");

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
