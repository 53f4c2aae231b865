/* SPDX-License-Identifier: MIT */
/* Paths deeper than any ring, that go up and down: branch records that are lost, and return. */
#include "common.h"

#define LEVEL(n, next)                                                                             \
	static NOINLINE uint64_t level##n(unsigned depth)                                          \
	{                                                                                          \
		uint64_t got = work(2);                                                            \
                                                                                                   \
		if (depth)                                                                         \
			got += next(depth - 1);                                                    \
		if (random_below(8) == 0)                                                          \
			got += work(9);                                                            \
		NOT_LAST;                                                                          \
		return got;                                                                        \
	}

static NOINLINE uint64_t level0(unsigned depth);
#define level1_or_2(depth) (random_below(3) ? level1(depth) : level2(depth))
LEVEL(4, level0)
LEVEL(3, level4)
LEVEL(2, level3)
LEVEL(1, level2)
LEVEL(0, level1_or_2)

static NOINLINE uint64_t one(unsigned depth)
{
	return level0(depth) + 1;
}

static NOINLINE uint64_t two(unsigned depth)
{
	return level1(depth) + work(3);
}

int main(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < 2500; i++)
		sum += random_below(2) ? one(random_below(70)) : two(random_below(70));
	return sum == 42;
}
