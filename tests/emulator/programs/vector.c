/* SPDX-License-Identifier: MIT */
/* The shape of the program in the real recording that the emulator is held against: linked
 * statically, everything is called from main, at most two calls deep, and the library's functions
 * are reached through stubs. */
#include <math.h>
#include <stdio.h>

#include "common.h"

static NOINLINE double fill(double *values, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++) {
		values[i] = (double)random_below(1000) / 3;
		sum += sin(values[i]);
	}
	return sum;
}

static NOINLINE double length(const double *values, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i + 1 < n; i++)
		sum += hypot(values[i], values[i + 1]);
	NOT_LAST;
	return sum;
}

int main(void)
{
	static double values[512];
	double sum = 0;

	for (int i = 0; i < 60; i++) {
		sum += (double)work(100);
		sum += fill(values, 512);
		sum += length(values, 512);
	}
	printf("%g\n", sum);
	return 0;
}
