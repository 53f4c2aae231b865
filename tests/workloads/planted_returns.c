/* SPDX-License-Identifier: MIT */
/*
 * Coroutines whose stacks begin with the address of a function that nobody has called: abort(), as
 * libraries put it there, a function of the program's own behind padding, one right behind another
 * function, and one right behind a call that does not return. Above them is what looks like more
 * callers: return addresses of main()'s. The last one begins right behind a ret (old
 * Boost.Context), at which samples hit, too.
 *
 * EXPECT: main;steady;main_leaf
 * EXPECT: main;steady;switch_stacks
 * EXPECT: @bottom;steady_put;put_leaf
 * EXPECT: @bottom;steady_put;switch_stacks
 * EXPECT: @bottom;finish_address;steady_finish;finish_leaf
 * EXPECT: @bottom;finish_address;steady_finish;finish_address
 * EXPECT: @bottom;finish_address;steady_finish;switch_stacks
 * BEGIN: main;finish_address
 */
#include <stdint.h>
#include <string.h>

#include "workload.h"

#define STACK_BYTES 65536
#define SAVED	    6 /* registers that switch_stacks() keeps on the stack */
#define STACKS	    5

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

/* `padded` stands behind padding, `behind_it` behind another function, `behind_call` behind a call
 * that the one before ends with. */
void padded(void);
void behind_it(void);
void behind_call(void);
#define ENDS(name)                                                                                 \
	".type " name ", @function\n" name ": .cfi_startproc\n"                                    \
	"sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"                                                 \
	"call ended\nud2\n.cfi_endproc\n.size " name ", . - " name "\n"
__asm__(".text\n.p2align 5\n"
	".type ended, @function\nended: .cfi_startproc\nud2\n.cfi_endproc\n.size ended, . - ended\n"
	".p2align 5\n" ENDS(
		"padded") ".p2align 5\n"
			  ".type before_it, @function\nbefore_it: .cfi_startproc\n"
			  "sub $24, %rsp\n.cfi_adjust_cfa_offset 24\ncall ended\n"
			  "add $24, %rsp\n.cfi_adjust_cfa_offset -24\n1: sub $1, %eax\njne 1b\nret\n"
			  ".cfi_endproc\n.size before_it, . - before_it\n" ENDS(
				  "behind_it") ".p2align 5\n"
					       ".type before_call, @function\nbefore_call: .cfi_startproc\n"
					       "sub $24, %rsp\n.cfi_adjust_cfa_offset 24\ncall ended\n"
					       ".cfi_endproc\n.size before_call, . - before_call\n" ENDS(
						       "behind_call"));

/* Returns the address of code that ends the process. */
void *finish_address(void);
__asm__(".text\n.p2align 4\n.globl finish_address\n.type finish_address, @function\n"
	"finish_address: lea 1f(%rip), %rax\n"
	"nopl 0(%rax)\nnopl 0(%rax)\n"
	"ret\n"
	"1: xor %edi, %edi\n"
	"call _exit@plt\n"
	"hlt\n"
	".size finish_address, . - finish_address\n");

static char stacks[STACKS * STACK_BYTES] __attribute__((aligned(64)));
static void *main_stack, *sp[STACKS];
static volatile unsigned turn; /* of the coroutines */

static CALLEE void main_leaf(void)
{
	SPIN(20 * SHORT);
}

static CALLEE void put_leaf(void)
{
	SPIN(20 * SHORT);
}

static CALLEE void finish_leaf(void)
{
	SPIN(20 * SHORT);
}

static CALLEE void steady_put(void)
{
	for (;;) {
		put_leaf();
		KEEP;
		switch_stacks(&sp[turn], main_stack);
		KEEP;
	}
}

static CALLEE void steady_finish(void)
{
	for (;;) {
		finish_leaf();
		KEEP;
		for (int i = 0; i < 200; i++)
			finish_address();
		switch_stacks(&sp[turn], main_stack);
		KEEP;
	}
}

static CALLEE void *own_return(void)
{
	return __builtin_return_address(0);
}

/* Makes a stack on which `entry` begins, with a return address, below words that look like those of
 * its callers. */
static CALLEE void *prepare(char *stack, void (*entry)(void), void *return_address)
{
	uint64_t *top = (uint64_t *)(void *)(stack + STACK_BYTES - 1024);

	for (int i = 0; i < 128; i++)
		top[i] = (uint64_t)(uintptr_t)(i % 2 ? own_return() : __builtin_return_address(0));
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
		turn = (turn + 1) % STACKS;
		switch_stacks(&main_stack, sp[turn]);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	void (*const ends[])(void) = {abort, padded, behind_it, behind_call};

	for (int i = 0; i < STACKS - 1; i++)
		sp[i] = prepare(stacks + i * STACK_BYTES, steady_put, (void *)(uintptr_t)ends[i]);
	sp[STACKS - 1] =
		prepare(stacks + (STACKS - 1) * STACK_BYTES, steady_finish, finish_address());
	workload_ready(argc, argv);
	steady();
	return 0;
}
