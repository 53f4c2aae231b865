/* SPDX-License-Identifier: MIT */
/*
 * Nanoseconds for a call of a function that calls itself: tag_call DEPTH... prints one number for
 * each depth, the best of many runs. Compiled three times, without tags, with the plugin and with
 * -finstrument-functions; the differences are what a tag costs (bench/tags.py).
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 2000000u /* in a run */
#define RUNS  40

#define UNTAGGED __attribute__((noinline, no_instrument_function))

/* The code behind the call keeps the compiler from making a loop of it. */
static __attribute__((noinline, noclone)) unsigned recurse(unsigned depth)
{
	unsigned below = depth > 1 ? recurse(depth - 1) : 0;

	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

UNTAGGED static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

UNTAGGED static double run(unsigned depth)
{
	unsigned rounds = CALLS / depth, calls = 0;
	double start = now_ns();

	for (unsigned i = 0; i < rounds; i++)
		calls += recurse(depth);
	return (now_ns() - start) / calls;
}

UNTAGGED static double best(unsigned depth)
{
	double least = run(depth);

	for (int i = 1; i < RUNS; i++) {
		double is = run(depth);

		least = is < least ? is : least;
	}
	return least;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		unsigned depth = (unsigned)atoi(argv[i]);

		printf("%.3f\n", best(depth && depth <= CALLS ? depth : 1));
	}
	return 0;
}
