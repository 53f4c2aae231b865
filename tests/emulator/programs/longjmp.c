/* SPDX-License-Identifier: MIT */
/* A recursive descent that gives up by longjmp from any depth, over frames whose branch records
 * stay behind. */
#include <setjmp.h>
#include <string.h>

#include "common.h"

static jmp_buf outer, inner;
static volatile int depth_seen;

static NOINLINE int descend(int depth, int limit);

static NOINLINE int left(int depth, int limit)
{
	int got = descend(depth + 1, limit);

	NOT_LAST;
	return got + 1;
}

/* Leaves part of its frame as it was: old return addresses stay there. */
static NOINLINE int right(int depth, int limit)
{
	volatile char hole[256];
	int got;

	hole[random_below(256)] = 1;
	got = descend(depth + 1, limit);
	NOT_LAST;
	return got + hole[0] % 2;
}

static NOINLINE int descend(int depth, int limit)
{
	work(3);
	depth_seen = depth;
	if (depth >= limit) {
		if (random_below(3) == 0)
			longjmp(inner, 1);
		if (random_below(5) == 0)
			longjmp(outer, 1);
		work(20);
		return depth;
	}
	return 1 + (random_below(2) ? left(depth, limit) : right(depth, limit));
}

static NOINLINE int protected_descent(int limit)
{
	if (setjmp(inner))
		return (int)work(10) & 1;
	return descend(0, limit) + 1;
}

static NOINLINE int round_of(int limit)
{
	volatile int sum = 0;

	if (setjmp(outer))
		return (int)work(15) & 1;
	for (int i = 0; i < 3; i++)
		sum += protected_descent(limit + i);
	return sum;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 6000; i++)
		sum += round_of((int)random_below(24));
	return sum == 42;
}
