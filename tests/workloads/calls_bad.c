/* SPDX-License-Identifier: MIT */
/*
 * Calls of bad pointers, of which 0 is one: the handler of SIGSEGV works, and returns in place of
 * the function that is not there. What it has interrupted is at no code at all. Its stack is that
 * of the thread, and an alternate one, by turns.
 *
 * With the argument "tails", a function that is called directly jumps to the bad pointer.
 *
 * With the argument "returns" it returns to 0 instead, over the return address of an earlier call;
 * with "jumps" and "jumps_register" it jumps to 16, under that of a call by address or by register.
 * No call has led to the bad address, and nothing says where the stack goes on.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
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

static CALLEE void tail(void)
{
	((void (*)(void))bad)();
}

static CALLEE void tails(void)
{
	tail();
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

/* Leaves the return address of a call on top of the stack in the same way, and jumps to 16. */
#define JUMPS(name, call)                                                                          \
	__asm__(".pushsection .text\n"                                                             \
		".type " #name ", @function\n" #name ": .cfi_startproc\n"                          \
		"sub $8, %rsp\n"                                                                   \
		".cfi_adjust_cfa_offset 8\n" call "\n"                                             \
		"sub $8, %rsp\n"                                                                   \
		".cfi_adjust_cfa_offset 8\n"                                                       \
		"mov $16, %ecx\n"                                                                  \
		"jmp *%rcx\n"                                                                      \
		".cfi_endproc\n"                                                                   \
		".size " #name ", . - " #name "\n"                                                 \
		".popsection");                                                                    \
	void name(void)

JUMPS(jumps, "call earlier");
JUMPS(jumps_register, "lea earlier(%rip), %rdx\ncall *%rdx");

static void use_alternate(bool is_used)
{
	const stack_t stack = {.ss_sp = alternate,
			       .ss_size = sizeof(alternate),
			       .ss_flags = is_used ? 0 : SS_DISABLE};

	sigaltstack(&stack, NULL);
}

static CALLEE void steady(bool is_tail)
{
	for (unsigned turn = 0;; turn++) {
		if (turn % TURNS == 0)
			use_alternate(turn / TURNS & 1);
		bad ^= 16;
		if (is_tail)
			tails();
		else
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
	const char *how = argc > 2 ? argv[2] : "";
	if (!strcmp(how, "returns"))
		returns();
	if (!strcmp(how, "jumps"))
		jumps();
	if (!strcmp(how, "jumps_register"))
		jumps_register();
	steady(!strcmp(how, "tails"));
	return 0;
}
