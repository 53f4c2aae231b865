/* SPDX-License-Identifier: MIT */
/* Ways into and out of functions in C; MAIN is how a path begins. */
#include <setjmp.h>
#include <stdio.h>

#include "expect.h"

#ifndef MAIN
#define MAIN "main"
#endif
#define IN(path) MAIN ";" path

static jmp_buf env;
static volatile int zero;

NOINLINE void inner(const char *path)
{
	expect(path);
	zero = 0;
}

NOINLINE void outer(void)
{
	expect(IN("outer"));
	inner(IN("outer;inner"));
	expect(IN("outer"));
	zero = 0;
}

NOINLINE void recursive(int depth)
{
	if (depth)
		recursive(depth - 1);
	else
		expect(IN("recursive;recursive;recursive"));
	zero = 0;
}

#ifndef FUNCTIONS /* where the caller of a tail call is in the tag depends on the compiler */
NOINLINE void tail(void)
{
	expect(IN("tail"));
	inner(IN("inner"));
}
#endif

NOINLINE void deep(int depth)
{
	if (depth)
		deep(depth - 1);
	else
		longjmp(env, 1);
	zero = 0;
}

NOINLINE void jumped_to(void)
{
	if (!setjmp(env))
		deep(3);
#ifndef FUNCTIONS /* exits were left out: right when this returns */
	expect(IN("jumped_to"));
	inner(IN("jumped_to;inner"));
#endif
	zero = 0;
}

int main(void)
{
	expect(MAIN);
	outer();
	recursive(2);
#ifndef FUNCTIONS
	tail();
#endif
	expect(MAIN);
	jumped_to();
	expect(MAIN);
	printf("%u of %u failed\n", failed, expected);
	return failed || !expected;
}
