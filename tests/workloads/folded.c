/* SPDX-License-Identifier: MIT */
/*
 * Passes whose inner course is known: `cells` grows along a known curve over each pass's CPU time,
 * in three phases, each a function. stackctl fold must find it from a few samples a pass.
 *
 *   folded PASSES MEAN_US
 *
 * A pass takes MEAN_US of CPU time, by 20 % more or less; each 40th takes five times as long. With
 * the environment variable MODES every third pass is of another kind, twice as long, in which the
 * phases are the other way round. Each pass writes 100 bytes as it begins, and has 16 page faults
 * in its last phase. Prints the number of passes, and for each point of the curve its x and y:
 * "0.25 0.05". Into the file that the environment variable STALLS names goes a line
 * for each stall, in which the program did not advance for more than a twentieth of a pass of its
 * CPU time, since the machine did something else in its name: the x at which it ended.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

#define CELLS  1000000ull /* a pass */
#define PHASES 3

#define PAGES  16
#define PAGE   4096
#define BYTES  100
#define STALL  0.05
#define STALLS 64 /* a pass */

volatile uint64_t cells;
volatile uint64_t table[4]; /* no number */
static volatile uint32_t passes;
static int sink;
static FILE *stalls;
static double stalled[STALLS]; /* where, in the pass at hand */
static uint32_t n_stalled;

static const double ends[PHASES] = {0.25, 0.70, 1.0};
static const double shares[PHASES] = {0.05, 0.80, 1.0};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Advances from one share of the pass's cells to another, in a time. */
static inline __attribute__((always_inline)) void
advance(uint64_t start, double from, double to, double y0, double y1, double ns, uint64_t base)
{
	double last = from;

	for (;;) {
		double x = (double)(cpu_ns() - start) / ns;

		if (x - last > STALL && n_stalled < STALLS)
			stalled[n_stalled++] = x;
		last = x;
		if (x >= to)
			break;
		cells = base +
			(uint64_t)((double)CELLS * (y0 + (y1 - y0) * (x - from) / (to - from)));
	}
	cells = base + (uint64_t)((double)CELLS * y1);
}

CALLEE void assemble(uint64_t start, double ns, uint64_t base)
{
	advance(start, 0, ends[0], 0, shares[0], ns, base);
	KEEP;
}

CALLEE void solve(uint64_t start, double ns, uint64_t base)
{
	advance(start, ends[0], ends[1], shares[0], shares[1], ns, base);
	KEEP;
}

static void touch(void)
{
	volatile char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < PAGES; i++)
		pages[i * PAGE] = 1;
	munmap((void *)pages, PAGES * PAGE);
}

CALLEE void output(uint64_t start, double ns, uint64_t base)
{
	touch();
	advance(start, ends[1], 1, shares[1], 1, ns, base);
	KEEP;
}

/* The other kind of pass. */
CALLEE void refine(uint64_t start, double ns, uint64_t base)
{
	advance(start, 0, 0.5, 0, 0.9, ns, base);
	KEEP;
	advance(start, 0.5, 1, 0.9, 1, ns, base);
	KEEP;
}

CALLEE void pass(double ns, int is_other)
{
	static const char bytes[BYTES];
	uint64_t base = cells, start = cpu_ns();

	if (write(sink, bytes, BYTES) != BYTES)
		exit(1);
	if (is_other) {
		refine(start, 2 * ns, base);
	} else {
		assemble(start, ns, base);
		solve(start, ns, base);
		output(start, ns, base);
	}
	passes++;
}

/* Between passes, which count what is written in them. */
static void tell_stalls(void)
{
	for (uint32_t i = 0; stalls && i < n_stalled; i++)
		fprintf(stalls, "%g\n", stalled[i]);
	n_stalled = 0;
}

int main(int argc, char **argv)
{
	uint32_t n = argc > 1 ? (uint32_t)atoi(argv[1]) : 100;
	double mean = argc > 2 ? atof(argv[2]) * 1000 : 5e6;
	int has_modes = getenv("MODES") != NULL;
	uint32_t random = 12345;

	sink = open("/dev/null", O_WRONLY);
	if (getenv("STALLS")) {
		stalls = fopen(getenv("STALLS"), "w");
		if (!stalls)
			return 1;
		setlinebuf(stalls);
	}
	for (uint32_t i = 0; i < n; i++) {
		double ns = mean;

		random = random * 1664525u + 1013904223u;
		ns *= 0.8 + 0.4 * (random >> 8) / 16777216.0;
		pass(i % 40 == 39 ? 5 * ns : ns, has_modes && i % 3 == 2);
		tell_stalls();
	}
	printf("%u\n", passes);
	for (int i = 0; i < PHASES; i++)
		printf("%g %g\n", ends[i], shares[i]);
	return 0;
}
