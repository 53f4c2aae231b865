/* SPDX-License-Identifier: MIT */
/* Helpers of the emulator's programs: random numbers that are the same in every run, and work to be
 * sampled in. */
#ifndef COMMON_H
#define COMMON_H

#include <stdint.h>

#define NOINLINE __attribute__((noinline, noclone))

/* Keeps the compiler from making a call the function's last jump. */
#define NOT_LAST __asm__ volatile("" ::: "memory")

static uint64_t random_state = 0x9e3779b97f4a7c15;

static inline uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % limit;
}

static NOINLINE uint64_t work(unsigned turns)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < turns; i++)
		sum = sum * 31 + (random_state >> (i & 31));
	NOT_LAST;
	return sum;
}

#endif
