/* SPDX-License-Identifier: MIT */
/*
 * Passes in which memory grows: from 30 % to 70 % of each pass's CPU time blocks are allocated, at
 * an even rate, by one call of block() each, and kept; on a machine that is slow to give pages,
 * later.
 *
 *   growing PASSES MEAN_US
 *
 * Prints the blocks and the bytes of a pass, then for each hundredth of its time how many blocks
 * all passes have made in it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "workload.h"

#define BLOCKS 64 /* a pass */
#define BYTES  32752

#define PARTS 100

volatile uint64_t blocks; /* of which block() was called, or is right after */
static void *kept;
static uint32_t made_in[PARTS];

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

CALLEE void block(void)
{
	void **made = malloc(BYTES);

	if (!made)
		exit(1);
	memset(made, 1, BYTES);
	*made = kept;
	kept = made;
	KEEP;
}

CALLEE void pass(double ns)
{
	uint64_t start = cpu_ns();
	double at[BLOCKS], x = 0;
	int made = 0;

	while (x < 1 || made < BLOCKS) {
		x = (double)(cpu_ns() - start) / ns;
		if (made < BLOCKS && x >= 0.3 && made < BLOCKS * (x - 0.3) / 0.4) {
			at[made++] = x;
			blocks++;
			block();
		}
	}
	x = (double)(cpu_ns() - start) / ns;
	for (int i = 0; i < BLOCKS; i++)
		made_in[at[i] < x ? (int)(at[i] / x * PARTS) : PARTS - 1]++;
	KEEP;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	double mean = argc > 2 ? atof(argv[2]) * 1000 : 10e6;
	uint32_t random = 12345;

	for (int i = 0; i < n; i++) {
		random = random * 1664525u + 1013904223u;
		pass(mean * (0.8 + 0.4 * (random >> 8) / 16777216.0));
	}
	printf("%d %d\n", BLOCKS, BLOCKS * BYTES);
	for (int i = 0; i < PARTS; i++)
		printf("%u%c", made_in[i], i < PARTS - 1 ? ' ' : '\n');
	return 0;
}
