/* SPDX-License-Identifier: MIT */
/*
 * A program of MPI whose ranks compute for so many seconds of CPU time each.
 *
 *   busy SECONDS
 */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static double used(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static __attribute__((noinline)) void spin(double seconds)
{
	const double end = used() + seconds;

	while (used() < end) {
		for (volatile int i = 0; i < 100000; i++)
			;
	}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	spin(atof(argv[1]));
	MPI_Finalize();
	return 0;
}
