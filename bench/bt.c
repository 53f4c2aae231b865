/* SPDX-License-Identifier: MIT */
/*
 * A program with the call tree of NAS BT, the benchmark that Servat et al. show:
 *
 *   main → adi → compute_rhs, {x,y,z}_solve → {x,y,z}_solve_cell, {x,y,z}_backsubstitute; add
 *
 *   bt SECONDS      runs for so long
 *
 * The shares are roughly those of class B. A step takes some hundredths of a second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CELLS 4096

static double grid[CELLS], rhs[CELLS];

#define KEEP __attribute__((noinline, noclone))

/* Floating point that the compiler cannot leave out; a macro, so that it is no routine. */
#define WORK(rounds, factor)                                                                       \
	for (unsigned r = 0; r < (rounds); r++)                                                    \
		for (unsigned i = 1; i < CELLS; i++)                                               \
	rhs[i] = rhs[i - 1] * (factor) + grid[i] * (1 - (factor))

#define DIRECTION(d, cell, back, own)                                                              \
	static KEEP void d##_solve_cell(void)                                                      \
	{                                                                                          \
		WORK(cell, 0.5);                                                                   \
	}                                                                                          \
	static KEEP void d##_backsubstitute(void)                                                  \
	{                                                                                          \
		WORK(back, 0.25);                                                                  \
	}                                                                                          \
	static KEEP void d##_solve(void)                                                           \
	{                                                                                          \
		WORK(own, 0.125);                                                                  \
		d##_solve_cell();                                                                  \
		d##_backsubstitute();                                                              \
		grid[0] += rhs[1];                                                                 \
	}

DIRECTION(x, 1900, 120, 60)
DIRECTION(y, 2000, 120, 60)
DIRECTION(z, 2200, 140, 70)

static KEEP void compute_rhs(void)
{
	WORK(1800, 0.75);
}

static KEEP void add(void)
{
	WORK(160, 0.875);
}

static KEEP void adi(void)
{
	compute_rhs();
	x_solve();
	y_solve();
	z_solve();
	add();
	grid[0] += rhs[2];
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	unsigned long steps = 0;

	for (unsigned i = 0; i < CELLS; i++)
		grid[i] = (double)i / CELLS;
	for (; now_s() < seconds; steps++)
		adi();
	printf("%lu steps, %g\n", steps, rhs[CELLS - 1]);
	return 0;
}
