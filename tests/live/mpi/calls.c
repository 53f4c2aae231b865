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

static __attribute__((noinline)) void exchange(int rounds, int ranks)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	MPI_Datatype column;

	MPI_Type_vector(10, 2, 10, MPI_INT, &column);
	MPI_Type_commit(&column);
	for (int i = 0; i < rounds; i++) {
		MPI_Sendrecv(values, 7, MPI_INT, next, 0, others, 7, MPI_INT, before, 0,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Sendrecv_replace(values, 3, MPI_CHAR, next, 0, before, 0, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
		if (rank == 0)
			MPI_Ssend(values, 1, column, 1, 2, MPI_COMM_WORLD);
		else if (rank == 1)
			MPI_Recv(others, VALUES, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Type_free(&column);
}

static __attribute__((noinline)) void collect_more(int rounds)
{
	int in_place[VALUES];

	for (int i = 0; i < rounds; i++) {
		MPI_Reduce(values, others, 5, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
		MPI_Scan(values, others, 4, MPI_SHORT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Gather(rank ? values : MPI_IN_PLACE, 3, MPI_INT, others, 3, MPI_INT, 0,
			   MPI_COMM_WORLD);
		MPI_Scatter(values, 2, MPI_INT, rank ? others : MPI_IN_PLACE, 2, MPI_INT, 0,
			    MPI_COMM_WORLD);
		MPI_Allgather(values, 2, MPI_INT, others, 2, MPI_INT, MPI_COMM_WORLD);
		MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in_place, 6, MPI_INT,
			     MPI_COMM_WORLD);
	}
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
	int rounds = argc > 2 ? atoi(argv[1]) : 0, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	send_messages(rounds);
	send_later(rounds);
	collect(rounds);
	exchange(rounds, ranks);
	collect_more(rounds);
	write_file(argv[2]);
	MPI_Finalize();
	return 0;
}
