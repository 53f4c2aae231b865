/* SPDX-License-Identifier: MIT */
/* Functions that options of the plugin leave out. LEAF, SMALL, SKIPPED and BEGUN expand to their
 * part of the expected path. */
#include <setjmp.h>
#include <stacktag.h>
#include <stdio.h>

#include "expect.h"

static jmp_buf env;
static volatile unsigned numbers[16];

/* Calls nothing. */
NOINLINE uint64_t leaf(void)
{
	return stacktag_current;
}

NOINLINE void inner(const char *path)
{
	expect(path);
	numbers[0] = 0;
}

/* A function of few statements. */
NOINLINE void small(void)
{
	inner("main" SMALL INNER);
	numbers[1] = 0;
}

/* A function of many statements. */
NOINLINE void large(void)
{
	for (unsigned i = 0; i < 16; i++)
		numbers[i] = numbers[i] * 3 + i % (numbers[(i + 1) % 16] | 1);
	for (unsigned i = 0; i < 16; i++)
		numbers[i] = numbers[i] / 7 + (numbers[(i + 5) % 16] ^ i);
	inner("main;large" INNER);
	numbers[2] = 0;
}

/* Left out by name; it restores the tag after its calls. */
NOINLINE void skipped_jump(void)
{
	inner("main" SKIPPED INNER);
	longjmp(env, 1);
}

NOINLINE void skipped(void)
{
	if (!setjmp(env))
		skipped_jump();
	expect("main" SKIPPED2);
}

NOINLINE void begun(void)
{
	expect(BEGUN);
	numbers[3] = 0;
}

int main(void)
{
	expect_tag("main" LEAF, leaf());
	small();
	large();
	skipped();
	begun();
	expect("main");
	printf("%u of %u failed\n", failed, expected);
	return failed || !expected;
}
