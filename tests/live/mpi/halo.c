/* SPDX-License-Identifier: MIT */
/*
 * Exchanges halos: halo ROUNDS POINTS. In each round a rank sends 1 KiB to both of its neighbours
 * in a ring, receives as much, and computes POINTS points. Of one rank, both neighbours are itself,
 * so that it waits for nobody. Then the cheapest call (MPI_Comm_rank()) at a depth of 10 and of 100
 * frames. The first rank prints the ns of CPU time of a round, and of a call at both depths.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HALO 128

static double in[2][HALO], out[2][HALO], points[1 << 16];
static int rank, ranks, rounds, n_points;

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static __attribute__((noinline)) void exchange(void)
{
	int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
	MPI_Request requests[4];

	MPI_Irecv(in[0], HALO, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(in[1], HALO, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(out[1], HALO, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(out[0], HALO, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[3]);
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static __attribute__((noinline)) void compute(void)
{
	for (int i = 1; i + 1 < n_points; i++)
		points[i] = 0.25 * points[i - 1] + 0.5 * points[i] + 0.25 * points[i + 1] +
			    in[0][i % HALO];
}

static __attribute__((noinline)) void call(void)
{
	for (int i = 0; i < rounds; i++)
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

static __attribute__((noinline)) void climb(int frames)
{
	if (frames)
		climb(frames - 1);
	else
		call();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	double begin, round, calls[2];

	rounds = argc > 1 ? atoi(argv[1]) : 1000;
	n_points = argc > 2 && atoi(argv[2]) < 1 << 16 ? atoi(argv[2]) : 1000;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	begin = cpu_ns();
	for (int i = 0; i < rounds; i++) {
		exchange();
		compute();
	}
	round = (cpu_ns() - begin) / rounds;
	for (int i = 0; i < 2; i++) {
		begin = cpu_ns();
		climb(i ? 97 : 7);
		calls[i] = (cpu_ns() - begin) / rounds;
	}
	if (!rank)
		printf("%.1f %.1f %.1f\n", round, calls[0], calls[1]);
	MPI_Finalize();
	return 0;
}
