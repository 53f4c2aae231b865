/* SPDX-License-Identifier: MIT */
/* Each rank computes its rows and exchanges their border; the first one has twice as many. */
#include <mpi.h>

static volatile double sink;

static __attribute__((noinline)) void compute_rows(int rows)
{
	for (int i = 0; i < rows * 1000; i++)
		sink += i * 0.5;
}

static __attribute__((noinline)) void exchange_border(void)
{
	double mine = sink, all;
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int step = 0; step < 50; step++) {
		compute_rows(rank == 0 ? 10000 : 5000);
		exchange_border();
	}
	MPI_Finalize();
	return 0;
}
