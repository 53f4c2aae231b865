/* SPDX-License-Identifier: MIT */
/*
 * Regions whose probes move to cheaper instructions (daemon/regions/probe_move.h), each called so
 * many times by a function of its own: moved ROUNDS
 *
 * They save registers and overwrite them, and their callers' frames are found by rbp alone: a walk
 * at the end of an instance finds the callers only if it restores rbp.
 */
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>

#include "workload.h"

/* Enters at `call`, with 5 words on the stack; returns where `jne` is not taken. */
unsigned late(unsigned n);
__asm__(".globl late\n.type late, @function\nlate:\n"
	".cfi_startproc\n"
	"sub $40, %rsp\n.cfi_adjust_cfa_offset 40\n"
	"mov %edi, 8(%rsp)\n"
	"call number\n"
	"test %eax, %eax\n"
	"jne 1f\n"
	"mov 8(%rsp), %rax\n"
	"add $40, %rsp\n.cfi_adjust_cfa_offset -40\n"
	"ret\n"
	"1: .cfi_adjust_cfa_offset 40\nud2\n"
	".cfi_endproc\n.size late, . - late\n");

/* Has two edges to its return, a branch that is not taken and a jump, with all registers saved. */
unsigned joined(unsigned n);
__asm__(".globl joined\n.type joined, @function\njoined:\n"
	".cfi_startproc\n"
	"push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r15, 0\n"
	"push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r14, 0\n"
	"push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r13, 0\n"
	"push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r12, 0\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
	"sub $24, %rsp\n.cfi_adjust_cfa_offset 24\n"
	"mov %edi, %ebx\n"
	"xor %ebp, %ebp\n"
	"xor %r12d, %r12d\n"
	"mov $1, %r13d\n"
	"mov %rsp, %r14\n"
	"mov %rsp, %r15\n"
	"call number\n"
	"test $1, %bl\n"
	"jne 2f\n"
	"1: mov %ebx, %eax\n"
	"add $24, %rsp\n.cfi_remember_state\n.cfi_adjust_cfa_offset -24\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n"
	"pop %rbp\n.cfi_adjust_cfa_offset -8\n"
	"pop %r12\n.cfi_adjust_cfa_offset -8\n"
	"pop %r13\n.cfi_adjust_cfa_offset -8\n"
	"pop %r14\n.cfi_adjust_cfa_offset -8\n"
	"pop %r15\n.cfi_adjust_cfa_offset -8\n"
	"ret\n"
	"2: .cfi_restore_state\n"
	"call number\n"
	"jmp 1b\n"
	".cfi_endproc\n.size joined, . - joined\n");

/* The branch before its return is passed ten times: its exit is the return. */
unsigned looped(unsigned n);
__asm__(".globl looped\n.type looped, @function\nlooped:\n"
	".cfi_startproc\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
	"mov $10, %ebp\n"
	"1: dec %ebp\n"
	"jne 1b\n"
	"pop %rbp\n.cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n.size looped, . - looped\n");

/* Returns by a branch that is taken, by one that is not, and by its own return behind a call. */
unsigned chosen(unsigned n);
__asm__(".globl chosen\n.type chosen, @function\nchosen:\n"
	".cfi_startproc\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
	"mov %edi, %ebp\n"
	"and $3, %edi\n"
	"je 1f\n"
	"cmp $1, %edi\n"
	"ja 2f\n"
	"1: mov %ebp, %eax\n"
	"pop %rbp\n.cfi_remember_state\n.cfi_adjust_cfa_offset -8\n"
	"ret\n"
	"2: .cfi_restore_state\n"
	"xor %ebp, %ebp\n"
	"call number\n"
	"pop %rbp\n.cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n.size chosen, . - chosen\n");

unsigned number(void);
CALLEE unsigned number(void)
{
	return 0;
}

static unsigned rounds;

/* Calls it from a frame that only rbp leads to. */
#define CALLER(name)                                                                               \
	static CALLEE void call_##name(void)                                                       \
	{                                                                                          \
		volatile char *room = alloca(16 + rounds % 64);                                    \
                                                                                                   \
		for (unsigned i = 0; i < rounds; i++) {                                            \
			*room = (char)name(i);                                                     \
			KEEP;                                                                      \
		}                                                                                  \
	}

CALLER(late)
CALLER(joined)
CALLER(looped)
CALLER(chosen)

int main(int argc, char **argv)
{
	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	call_late();
	call_joined();
	call_looped();
	call_chosen();
	printf("%u\n", rounds);
	return 0;
}
