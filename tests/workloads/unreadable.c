/* SPDX-License-Identifier: MIT */
/*
 * A stack of which not all can be read. In its middle lies a large array that nobody ever touches:
 * those pages are not there, and no walk needs a word of them. What is above it, with the return
 * addresses of `sparse` and its callers, is made unreadable and readable again in turn.
 *
 * EXPECT: @context;steady;upper;sparse;lower;open_leaf
 * EXPECT: @context;steady;upper;sparse;lower;protect
 * EXPECT: @context;steady;upper;sparse;lower;covered_leaf
 * COVERED: sparse;lower
 * TORN: setcontext
 *
 * While they cannot be read, the frames that can be known are those of the COVERED line and what
 * `lower` calls: a sample of covered_leaf has no others, one of open_leaf has all, and one of
 * `lower` itself or of `protect` is this or that. It all happens on a stack of its own, where the
 * kernel and the C library keep nothing.
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "workload.h"

#define PAGE  4096ul
#define STACK (128 * 1024ul)
#define ROOM  (32 * 1024ul)

static char *stack;

static CALLEE void open_leaf(void)
{
	SPIN(LONG);
}

static CALLEE void covered_leaf(void)
{
	SPIN(LONG);
}

/* mprotect() without the C library, for its frames would be in the paths. */
static CALLEE void protect(unsigned long from, long how)
{
	long result = SYS_mprotect;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(from), "S"((unsigned long)stack + STACK - from), "d"(how)
			 : "rcx", "r11", "memory");
	if (result)
		_exit(1);
}

static CALLEE void lower(char *room)
{
	unsigned long from = ((unsigned long)room + ROOM / 2) & ~(PAGE - 1);

	for (;;) {
		open_leaf();
		KEEP;
		protect(from, PROT_NONE);
		covered_leaf();
		KEEP;
		protect(from, PROT_READ | PROT_WRITE);
	}
}

static CALLEE void sparse(void)
{
	char room[ROOM];

	lower(room);
	KEEP;
}

static CALLEE void upper(void)
{
	sparse();
	KEEP;
}

static CALLEE void steady(void)
{
	upper();
	KEEP;
}

int main(int argc, char **argv)
{
	ucontext_t context;

	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED || getcontext(&context))
		return 1;
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = STACK;
	context.uc_link = NULL;
	makecontext(&context, steady, 0);
	workload_ready(argc, argv);
	setcontext(&context);
	return 1;
}
