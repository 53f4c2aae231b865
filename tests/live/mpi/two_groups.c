/* SPDX-License-Identifier: MIT */
/* Collectives between two groups of ranks, N times: two_groups N. What each sends and receives goes
 * by the size of the other group. */
#include <mpi.h>
#include <stdlib.h>

enum { MOST = 64, LEADER_TAG = 7 };

int main(int argc, char **argv)
{
	int out[MOST] = {0}, in[MOST], rank, is_first;
	MPI_Comm group, both;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	is_first = rank == 0;
	MPI_Comm_split(MPI_COMM_WORLD, is_first, rank, &group);
	MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, is_first ? 1 : 0, LEADER_TAG, &both);
	for (int i = 0; i < atoi(argv[1]); i++) {
		MPI_Alltoall(out, 3, MPI_INT, in, 3, MPI_INT, both);
		MPI_Allreduce(out, in, 5, MPI_INT, MPI_SUM, group);
	}
	MPI_Comm_free(&both);
	MPI_Comm_free(&group);
	MPI_Finalize();
	return 0;
}
