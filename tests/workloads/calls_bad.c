/* SPDX-License-Identifier: MIT */
/*
 * Calls of bad pointers, of which 0 is one: the handler of SIGSEGV works, and returns in place of
 * the function that is not there. What it has interrupted is at no code at all. Its stack is that
 * of the thread, and an alternate one, by turns.
 *
 * With a second argument it returns to 0 instead, over the return address of an earlier call. No
 * call has led to 0, and nothing says where the stack goes on.
 */
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "workload.h"

#define TURNS 64 /* on one stack */

static volatile uintptr_t bad;
static uint8_t alternate[65536];

static CALLEE void handler_leaf(void)
{
	SPIN(200 * SHORT);
}

static CALLEE void alternate_leaf(void)
{
	SPIN(200 * SHORT);
}

static CALLEE void handler(int number, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)number;
	(void)info;
	if ((uintptr_t)context - (uintptr_t)alternate < sizeof(alternate))
		alternate_leaf();
	else
		handler_leaf();
	r[REG_RIP] = *(greg_t *)r[REG_RSP];
	r[REG_RSP] += 8;
}

static CALLEE void calls(void)
{
	((void (*)(void))bad)();
	KEEP;
}

void earlier(void);
CALLEE void earlier(void)
{
	KEEP;
}

/* Leaves the return address of the call of earlier() on top of the stack, and returns to 0. The
 * handler returns behind that call, again and again. */
__asm__(".pushsection .text\n"
	".type returns, @function\n"
	"returns: .cfi_startproc\n"
	"sub $8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"call earlier\n"
	"sub $8, %rsp\n" /* its return address is on top again, */
	".cfi_adjust_cfa_offset 8\n"
	"push $0\n" /* and this above it */
	".cfi_adjust_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size returns, . - returns\n"
	".popsection");
void returns(void);

static void use_alternate(bool is_used)
{
	const stack_t stack = {.ss_sp = alternate,
			       .ss_size = sizeof(alternate),
			       .ss_flags = is_used ? 0 : SS_DISABLE};

	sigaltstack(&stack, NULL);
}

static CALLEE void steady(void)
{
	for (unsigned turn = 0;; turn++) {
		if (turn % TURNS == 0)
			use_alternate(turn / TURNS & 1);
		bad ^= 16;
		calls();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	if (sigaction(SIGSEGV, &action, NULL))
		return 1;
	workload_ready(argc, argv);
	if (argc > 2)
		returns();
	steady();
	return 0;
}
