/* SPDX-License-Identifier: MIT */
/*
 * Functions with call frame information that are entered by a jump, on a stack that the program has
 * made, with a stale return address in the place of their own: it leads to `tells`, `tells_too` or
 * `leans`, which have made calls by address. By turns:
 *
 *   copied     runs in a local array of its thread, on a copy of the thread's stack
 *
 *   ended      has zeros above the stale return address, and the memory ends there
 *
 *   chained    has a chain of two stale return addresses and a 0, in the midst of memory
 *
 *   signaled   has `leans` above it, whose rule finds the thread's own stack, and is interrupted by
 * a signal, whose handler has an alternate stack
 *
 *   stale      runs on a context's stack, below that context's frames
 *
 *   handled    runs on an alternate stack, below the frame of a signal whose handler has returned
 *
 *   swapped    has `leans` above it, whose rule finds the thread's own stack, and calls a function
 *              that loads the stack pointer
 *
 *   unreturned has the return address of a call by address in `fails`, which never returns, and is
 *              its last instruction
 *
 * The functions that begin the stacks, `enters` and `works`, are like `fails`, but nobody leaves
 * them.
 *
 * EXPECT: @thread;works;steady_thread;tells;copies;starts_at
 * EXPECT: @thread;works;steady_thread;tells;copies;ends
 * EXPECT: @bottom;copied;in_copied
 * EXPECT: @bottom;copied;ends
 * EXPECT: main;enters;steady;zeroes;starts_at
 * EXPECT: main;enters;steady;zeroes;ends
 * EXPECT: @bottom;ended;in_ended
 * EXPECT: @bottom;ended;ends
 * EXPECT: main;enters;steady;chains;starts_at
 * EXPECT: main;enters;steady;chains;ends
 * EXPECT: @bottom;chained;in_chained
 * EXPECT: @bottom;chained;ends
 * EXPECT: main;enters;steady;leans;signals;starts_at
 * EXPECT: main;enters;steady;leans;signals;ends
 * EXPECT: @bottom;signaled;in_signaled
 * EXPECT: @bottom;signaled;ends
 * EXPECT: @bottom;signaled;send_signal
 * EXPECT: @bottom;signaled;send_signal;@sigret;handles
 * EXPECT: @context;steady_context;in_context
 * EXPECT: @context;steady_context;@lib+
 * EXPECT: @context;steady_context;@plt
 * EXPECT: main;enters;steady;stales;starts_at
 * EXPECT: main;enters;steady;stales;ends
 * EXPECT: main;enters;steady;stales;@lib+
 * EXPECT: main;enters;steady;stales;@plt
 * EXPECT: @bottom;stale;in_stale
 * EXPECT: @bottom;stale;ends
 * EXPECT: main;enters;steady;prepares
 * EXPECT: main;enters;steady;prepares;@lib+
 * EXPECT: main;enters;steady;prepares;@plt
 * EXPECT: main;enters;steady;prepares;send_signal
 * EXPECT: main;enters;steady;prepares;send_signal;@sigret;notes
 * EXPECT: main;enters;steady;hands;starts_at
 * EXPECT: main;enters;steady;hands;ends
 * EXPECT: @bottom;send_signal;@sigret;handled;in_handled
 * EXPECT: @bottom;send_signal;@sigret;handled;ends
 * EXPECT: main;enters;steady;leans;swaps;starts_at
 * EXPECT: main;enters;steady;leans;swaps;ends
 * EXPECT: @bottom;swapped;hops;in_hops
 * EXPECT: @bottom;swapped;hops
 * EXPECT: @bottom;swapped;ends
 * EXPECT: main;enters;steady;fails;leaves
 * EXPECT: main;enters;steady;returns;starts_at
 * EXPECT: main;enters;steady;returns;ends
 * EXPECT: @bottom;unreturned;in_unreturned
 * EXPECT: @bottom;unreturned;ends
 * TORN: swapcontext
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "send_signal.h"
#include "workload.h"

#define CODE(name, code)                                                                           \
	__asm__(".pushsection .text\n.balign 16\n.type " #name ", @function\n" #name               \
		":\n.cfi_startproc\n" code "\n.cfi_endproc\n.size " #name ", . - " #name           \
		"\n.popsection\n")

/* Begins a function at the end of another one. */
#define FOLLOWS(name)                                                                              \
	__asm__(".pushsection .text\n.type follows_" #name ", @function\nfollows_" #name           \
		":\n.cfi_startproc\nret\n.cfi_endproc\n.size follows_" #name                       \
		", . - follows_" #name "\n.popsection\n")

void starts_at(void (*function)(void), uint64_t *stack, uint64_t **own);
void ends(uint64_t *own);
void tells(void (*called)(void)), tells_too(void (*called)(void)), leans(void (*called)(void));
extern const char told[] __asm__(".Ltold"), told_too[] __asm__(".Ltold_too"),
	leant[] __asm__(".Lleant");
static uint64_t *main_own, *thread_own;

CODE(starts_at, "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\n"
		"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbp, -24\n"
		"mov %rsp, (%rdx)\nmov %rsi, %rsp\njmp *%rdi");
CODE(ends, "mov %rdi, %rsp\n.cfi_def_cfa_offset 24\n.cfi_offset %rbp, -24\n.cfi_offset %rbx, -16\n"
	   "pop %rbp\n.cfi_adjust_cfa_offset -8\npop %rbx\n.cfi_adjust_cfa_offset -8\nret");
CODE(tells, "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall *%rdi\n"
	    ".Ltold: add $8, %rsp\n.cfi_adjust_cfa_offset -8\nret");
CODE(tells_too, "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall *%rdi\n"
		".Ltold_too: add $8, %rsp\n.cfi_adjust_cfa_offset -8\nret");
CODE(leans, "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbp, -16\n"
	    "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\ncall *%rdi\n"
	    ".Lleant: pop %rbp\n.cfi_def_cfa %rsp, 8\nret");

void hops(void);
CODE(hops, "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\nlea -64(%rsp), %rbx\n"
	   "xchg %rsp, %rbx\nadd $64, %rsp\ncall in_hops\n"
	   "pop %rbx\n.cfi_adjust_cfa_offset -8\nret");

/* `leaves` returns to the caller of `fails`. */
void fails(void (*called)(void)), leaves(void);
CODE(leaves, "mov %rsp, left_at(%rip)\nadd $96, %rsp\n.cfi_adjust_cfa_offset -96\nret");
CODE(fails, "sub $88, %rsp\n.cfi_adjust_cfa_offset 88\ncall *%rdi");
FOLLOWS(fails);
void enters(void (*called)(void));
CODE(enters, "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall *%rdi");
FOLLOWS(enters);
void *works(void *called);
CODE(works, "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall *%rdi");
FOLLOWS(works);
uint64_t *left_at __attribute__((visibility("hidden")));

#define COROUTINE(name, own, inside)                                                               \
	static CALLEE void in_##name(void)                                                         \
	{                                                                                          \
		SPIN(25 * SHORT);                                                                  \
	}                                                                                          \
	static CALLEE __attribute__((noreturn)) void name(void)                                    \
	{                                                                                          \
		in_##name();                                                                       \
		KEEP;                                                                              \
		inside;                                                                            \
		ends(own);                                                                         \
		__builtin_unreachable();                                                           \
	}

static int pid;
static unsigned turn;

COROUTINE(copied, thread_own, (void)0)
COROUTINE(ended, main_own, (void)0)
COROUTINE(chained, main_own, (void)0)
COROUTINE(signaled, main_own, if (turn % 16 == 0) send_signal(pid))
COROUTINE(stale, main_own, (void)0)
COROUTINE(handled, main_own, (void)0)
COROUTINE(unreturned, main_own, (void)0)

CALLEE void in_hops(void)
{
	SPIN(25 * SHORT);
}

static CALLEE __attribute__((noreturn)) void swapped(void)
{
	hops();
	KEEP;
	ends(main_own);
	__builtin_unreachable();
}

#define WORDS 8192
static uint64_t spare[WORDS] __attribute__((aligned(16)));
static uint64_t *mapped;

static CALLEE void handles(int number)
{
	SPIN(400 * SHORT);
	(void)number;
}

#define LOCAL 1024
static CALLEE void copies(void)
{
	uint64_t local[LOCAL] __attribute__((aligned(16)));
	const uint64_t *from = (uint64_t *)__builtin_dwarf_cfa() - 1;
	long words = (uint64_t *)__builtin_thread_pointer() - from;
	uint64_t *at = &local[LOCAL - 1 - words / 2 * 2 - 2];

	if (words > LOCAL - 400)
		_exit(3);
	for (long i = 0; i < words; i++)
		__asm__("mov %1, %0" : "=m"(at[i]) : "r"(from[i]));
	starts_at(copied, at, &thread_own);
	KEEP;
}

static CALLEE void steady_thread(void)
{
	for (;;) {
		tells(copies);
		KEEP;
	}
}

static CALLEE void zeroes(void)
{
	mapped[WORDS - 3] = (uintptr_t)told;
	mapped[WORDS - 2] = mapped[WORDS - 1] = 0;
	starts_at(ended, &mapped[WORDS - 3], &main_own);
	KEEP;
}

static CALLEE void chains(void)
{
	uint64_t *at = &spare[WORDS / 2 + 1];

	at[0] = (uintptr_t)told;
	at[1] = 0;
	at[2] = (uintptr_t)told_too;
	at[3] = at[4] = 0;
	starts_at(chained, at, &main_own);
	KEEP;
}

static CALLEE void signals(void)
{
	uint64_t *at = &spare[WORDS / 4 + 1];

	at[0] = (uintptr_t)leant;
	starts_at(signaled, at, &main_own);
	KEEP;
}

static ucontext_t main_context, context;

static CALLEE void in_context(void)
{
	SPIN(25 * SHORT);
}

static CALLEE void steady_context(void)
{
	for (;;) {
		in_context();
		KEEP;
		swapcontext(&context, &main_context);
	}
}

static CALLEE void stales(void)
{
	uint64_t *at;

	swapcontext(&main_context, &context);
	at = (uint64_t *)context.uc_mcontext.gregs[REG_RSP] - 1;
	starts_at(stale, at, &main_own);
	KEEP;
}

static uint64_t *handler_at;

static CALLEE void notes(int number)
{
	handler_at = (uint64_t *)__builtin_dwarf_cfa() - 1;
	(void)number;
}

/* Has a handler run on an alternate stack, and makes another one that of handlers. */
static CALLEE void prepares(void)
{
	static char first[65536], second[65536];
	struct sigaction action = {.sa_handler = notes, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_sp = first, .ss_size = sizeof first};

	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		_exit(4);
	send_signal(pid);
	KEEP;
	action.sa_handler = handles;
	stack.ss_sp = second;
	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		_exit(4);
}

static CALLEE void hands(void)
{
	starts_at(handled, handler_at, &main_own);
	KEEP;
}

static CALLEE void swaps(void)
{
	uint64_t *at = &spare[WORDS / 8 + 1];

	at[0] = (uintptr_t)leant;
	starts_at(swapped, at, &main_own);
	KEEP;
}

static CALLEE void returns(void)
{
	starts_at(unreturned, left_at, &main_own);
	KEEP;
}

static CALLEE void steady(void)
{
	prepares();
	for (turn = 0;; turn++) {
		hands();
		leans(swaps);
		fails(leaves);
		returns();
		zeroes();
		chains();
		leans(signals);
		stales();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	static char stack[131072];
	pthread_t thread;

	/* The page behind it is a mapping of its own. */
	mapped = mmap(NULL, WORDS * 8 + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (mapped == MAP_FAILED || mprotect(mapped + WORDS, 4096, PROT_NONE))
		return 1;
	pid = getpid();
	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof stack;
	makecontext(&context, steady_context, 0);
	workload_ready(argc, argv);
	pthread_create(&thread, NULL, works, (void *)steady_thread);
	enters(steady);
	return 0;
}
