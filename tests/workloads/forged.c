/* SPDX-License-Identifier: MIT */
/*
 * A return address that is not the caller's. While `leaf` runs, `forger`, which has no unwind
 * information but a frame pointer, has put the address behind another call into its slot: that
 * call, in `liar`, goes to `decoy`. A walk by the frame pointer finds `liar` above `forger`, and
 * the call there shows that this is wrong. So each path is cut below `forger`, and none has `liar`,
 * which nobody calls.
 */
#include "workload.h"

void forger(void);
void decoy(void);
void liar(void);

CALLEE void leaf(void)
{
	SPIN(LONG);
}

CALLEE void decoy(void)
{
	KEEP;
}

__asm__(".text\n"
	".type forger,@function\n"
	".globl forger\n"
	"forger: push %rbp; mov %rsp, %rbp; push %rbx; sub $8, %rsp\n"
	"mov 8(%rbp), %rbx; lea 1f(%rip), %rax; mov %rax, 8(%rbp)\n"
	"call leaf\n"
	"mov %rbx, 8(%rbp); add $8, %rsp; pop %rbx; pop %rbp; ret\n"
	".size forger, .-forger\n"
	".type liar,@function\n"
	".globl liar\n"
	"liar: push %rbp; mov %rsp, %rbp; call decoy\n"
	"1: pop %rbp; ret\n"
	".size liar, .-liar\n");

static CALLEE void steady(void)
{
	for (;;) {
		forger();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
