/* SPDX-License-Identifier: MIT */
/*
 * Coroutines that the program makes itself, on stacks that lie one behind the other. Two ways of
 * beginning a stack: a return address of 0 (as Ruby's fibers have), and the address of code without
 * call frame information that ends the process (as Boost.Context and PHP have).
 *
 * EXPECT: main;steady;main_leaf
 * EXPECT: main;steady;switch_stacks
 * EXPECT: @bottom;steady_zero;zero_middle;zero_leaf
 * EXPECT: @bottom;steady_zero;switch_stacks
 * EXPECT: @bottom;finish_address;steady_finish;finish_leaf
 * EXPECT: @bottom;finish_address;steady_finish;switch_stacks
 * BEGIN: main;finish_address
 */
#include <stdint.h>
#include <string.h>

#include "workload.h"

#define STACK_BYTES 65536
#define SAVED	    6 /* registers that switch_stacks() keeps on the stack */

/* Its call frame information holds on both stacks, which look the same. */
void switch_stacks(void **from, void *to);
__asm__(".text\n.globl switch_stacks\n.type switch_stacks, @function\n"
	"switch_stacks: .cfi_startproc\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
	"push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r12, 0\n"
	"push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r13, 0\n"
	"push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r14, 0\n"
	"push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r15, 0\n"
	"mov %rsp, (%rdi)\n"
	"mov %rsi, %rsp\n"
	"pop %r15\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r15\n"
	"pop %r14\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r14\n"
	"pop %r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r13\n"
	"pop %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r12\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\n"
	"pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
	"ret\n.cfi_endproc\n.size switch_stacks, . - switch_stacks\n");

/* Returns the address at which a coroutine's first function would return. */
void *finish_address(void);
__asm__(".text\n.globl finish_address\n.type finish_address, @function\n"
	"finish_address: lea 1f(%rip), %rax\n"
	"ret\n"
	"push %rbp\n"
	"jmp *%rbx\n"
	"1: xor %edi, %edi\n"
	"call _exit@plt\n"
	"hlt\n"
	".size finish_address, . - finish_address\n");

static char stacks[2 * STACK_BYTES] __attribute__((aligned(64)));
static void *main_stack, *zero_stack, *finish_stack;

static CALLEE void main_leaf(void)
{
	SPIN(50 * SHORT);
}

static CALLEE void zero_leaf(void)
{
	SPIN(50 * SHORT);
}

static CALLEE void zero_middle(void)
{
	zero_leaf();
	KEEP;
}

static CALLEE void finish_leaf(void)
{
	SPIN(50 * SHORT);
}

static CALLEE void steady_zero(void)
{
	for (;;) {
		zero_middle();
		KEEP;
		switch_stacks(&zero_stack, finish_stack);
		KEEP;
	}
}

static CALLEE void steady_finish(void)
{
	for (;;) {
		finish_leaf();
		KEEP;
		switch_stacks(&finish_stack, main_stack);
		KEEP;
	}
}

/* Makes a stack on which `entry` begins, with a return address; its stack pointer. */
static void *prepare(char *stack, void (*entry)(void), void *return_address)
{
	uint64_t *top = (uint64_t *)(void *)(stack + STACK_BYTES - 64);

	*--top = (uint64_t)(uintptr_t)return_address;
	*--top = (uint64_t)(uintptr_t)entry;
	top -= SAVED;
	memset(top, 0, SAVED * sizeof(*top));
	return top;
}

static CALLEE void steady(void)
{
	for (;;) {
		main_leaf();
		KEEP;
		switch_stacks(&main_stack, zero_stack);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	zero_stack = prepare(stacks, steady_zero, NULL);
	finish_stack = prepare(stacks + STACK_BYTES, steady_finish, finish_address());
	workload_ready(argc, argv);
	steady();
	return 0;
}
