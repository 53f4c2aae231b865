/* SPDX-License-Identifier: MIT */
/*
 * Passes that all take the same time on the clock, and end at multiples of it: what a sampler of
 * the same period, by the clock of the CPU, hits at one moment of each.
 *
 *   beat PASSES US
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "workload.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

CALLEE void pass(uint64_t end)
{
	while (now_ns() < end)
		;
	KEEP;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	uint64_t ns = argc > 2 ? (uint64_t)atoi(argv[2]) * 1000 : 5000000, start = now_ns();

	for (int i = 1; i <= n; i++)
		pass(start + (uint64_t)i * ns);
	return 0;
}
