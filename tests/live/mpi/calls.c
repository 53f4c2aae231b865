/* SPDX-License-Identifier: MIT */
/*
 * A program of MPI whose calls are known: each rank makes ROUNDS of every kind. Rank 0 sends to
 * rank 1 what the lines say.
 *
 *   calls ROUNDS FILE
 */
#include <mpi.h>
#include <stdlib.h>

enum { VALUES = 100 };

static int rank, values[VALUES], others[VALUES];

static __attribute__((noinline)) void send_messages(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		if (rank == 0)
			MPI_Send(values, VALUES, MPI_INT, 1, 0, MPI_COMM_WORLD);
		else if (rank == 1)
			MPI_Recv(values, VALUES, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(values, VALUES, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
	}
}

static __attribute__((noinline)) void send_later(int rounds)
{
	MPI_Request request;

	for (int i = 0; i < rounds && rank < 2; i++) {
		if (rank == 0)
			MPI_Isend(values, VALUES, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
		else
			MPI_Irecv(others, VALUES, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

static __attribute__((noinline)) void collect(int rounds)
{
	double sum = rank;

	for (int i = 0; i < rounds; i++) {
		MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		MPI_Bcast(values, VALUES, MPI_INT, 0, MPI_COMM_WORLD);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/* MPI's functions for files call others of MPI. */
static __attribute__((noinline)) void write_file(const char *path)
{
	MPI_File file;

	MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof(values), values, VALUES, MPI_INT,
			      MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[1]) : 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	send_messages(rounds);
	send_later(rounds);
	collect(rounds);
	write_file(argv[2]);
	MPI_Finalize();
	return 0;
}
