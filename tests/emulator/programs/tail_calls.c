/* SPDX-License-Identifier: MIT */
/* Calls whose function jumps on to another: directly, through a pointer, and through the PLT. */
#include <stdlib.h>
#include <string.h>

#include "common.h"

static NOINLINE uint64_t leaf(uint64_t x)
{
	return x + work(12);
}

static NOINLINE uint64_t second(uint64_t x)
{
	work(2);
	return leaf(x * 3);
}

static NOINLINE uint64_t first(uint64_t x)
{
	work(1);
	return second(x + 1);
}

static NOINLINE uint64_t by_pointer(uint64_t x, uint64_t (*next)(uint64_t))
{
	work(2);
	return next(x);
}

static NOINLINE int by_plt(const char *a, const char *b)
{
	work(2);
	return strcmp(a, b);
}

static NOINLINE uint64_t down(int depth, uint64_t x)
{
	static uint64_t (*volatile targets[])(uint64_t) = {leaf, first, second};
	uint64_t got;

	if (depth) {
		got = down(depth - 1, x);
		NOT_LAST;
		return got + 1;
	}
	switch (random_below(3)) {
	case 0:
		got = first(x);
		break;
	case 1:
		got = by_pointer(x, targets[random_below(3)]);
		break;
	default:
		got = (uint64_t)by_plt("a text that is long enough to be compared for a while",
				       "a text that is long enough to be compared for a time");
	}
	NOT_LAST;
	return got + work(3);
}

int main(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < 25000; i++)
		sum += down((int)random_below(12), sum);
	return sum == 42;
}
