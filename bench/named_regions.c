/* SPDX-License-Identifier: MIT */
/* Prints the CPU time of a pass through a named region (stackd_region.h), in ns:
 * named_regions DEPTH PASSES */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stackd_region.h"

static volatile int sink;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void pass_through(int passes)
{
	for (int i = 0; i < passes; i++) {
		STACKD_REGION("pass");
		sink++;
	}
}

static __attribute__((noinline)) double measure(int depth, int passes)
{
	double result;

	if (depth > 1) {
		result = measure(depth - 1, passes);
		sink++; /* no tail call */
		return result;
	}
	pass_through(passes / 10); /* until the path is known */
	result = now_ns();
	pass_through(passes);
	return (now_ns() - result) / passes;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	printf("%.1f\n", measure(atoi(argv[1]), atoi(argv[2])));
	return 0;
}
