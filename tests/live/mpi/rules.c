/* SPDX-License-Identifier: MIT */
/*
 * A program of MPI with a call for each rule of what is passed on: arrays of counts, derived types,
 * persistent requests, MPI_IN_PLACE, no partner, nothing, windows. It never asks for the sizes of
 * its communicators, nor for its rank in any but the first.
 *
 *   rules ROUNDS
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, ROOM = 4096 };

static int rank, ranks;
static int out[ROOM], in[ROOM], counts[MOST], places[MOST], bytes[MOST];

/* Process i passes on i + 1 of what there is, but the second one nothing. */
static int count_of(int i)
{
	return i == 1 ? 0 : i + 1;
}

static void set_counts(void)
{
	int at = 0;

	for (int i = 0; i < ranks; i++) {
		counts[i] = count_of(i);
		places[i] = at;
		bytes[i] = at * (int)sizeof(int);
		at += counts[i];
	}
}

static void collect_counts(MPI_Comm comm)
{
	int own = count_of(rank), equal[MOST], apart[MOST];
	int is_root = rank == ranks - 1;

	MPI_Gatherv(out, own, MPI_INT, in, counts, places, MPI_INT, 0, comm);
	MPI_Gatherv(is_root ? MPI_IN_PLACE : out, own, MPI_INT, in, counts, places, MPI_INT,
		    ranks - 1, comm);
	MPI_Scatterv(out, counts, places, MPI_INT, in, own, MPI_INT, 0, comm);
	MPI_Scatterv(out, counts, places, MPI_INT, is_root ? MPI_IN_PLACE : in, own, MPI_INT,
		     ranks - 1, comm);
	MPI_Allgatherv(out, own, MPI_INT, in, counts, places, MPI_INT, comm);
	MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, places, MPI_INT, comm);
	MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm);
	MPI_Reduce_scatter_block(out, in, 3, MPI_INT, MPI_SUM, comm);
	for (int i = 0; i < ranks; i++) {
		equal[i] = rank == 0 || i == 0 ? 2 : 1;
		apart[i] = 2 * i;
	}
	MPI_Alltoallv(out, equal, apart, MPI_INT, in, equal, apart, MPI_INT, comm);
	MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, equal, apart, MPI_INT, comm);
	MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, comm);
	MPI_Allgather(out, 2, MPI_INT, in, 2, MPI_INT, comm);
	MPI_Exscan(out, in, 3, MPI_INT, MPI_SUM, comm);
	MPI_Bcast(out, 0, MPI_INT, 0, comm);
}

/* Without blocking, the bytes are where the call is posted. */
static void collect_later(MPI_Comm comm)
{
	MPI_Request request;

	MPI_Iallgatherv(out, count_of(rank), MPI_INT, in, counts, places, MPI_INT, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Ibcast(out, 5, MPI_INT, 1, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Igather(out, 2, MPI_INT, in, 2, MPI_INT, 0, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Each pair of processes has a datatype of its own. */
static void exchange_types(MPI_Comm comm)
{
	MPI_Datatype types[MOST], column, record, nested;
	const int lengths[] = {2, 1, 3};
	const MPI_Aint where[] = {0, 16, 32};
	const MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
	int ones[MOST];

	MPI_Type_vector(3, 2, 4, MPI_INT, &column);
	MPI_Type_create_struct(3, lengths, where, parts, &record);
	MPI_Type_contiguous(2, column, &nested);
	MPI_Type_commit(&column);
	MPI_Type_commit(&record);
	MPI_Type_commit(&nested);
	for (int i = 0; i < ranks; i++) {
		types[i] = (rank + i) % 2 ? column : MPI_INT;
		ones[i] = 1;
		bytes[i] = i * 64;
	}
	MPI_Alltoallw(out, ones, bytes, types, in, ones, bytes, types, comm);
	MPI_Bcast(out, 2, record, 0, comm);
	MPI_Bcast(out, 1, nested, 0, comm);
	MPI_Bcast(out, 1, MPI_DOUBLE_INT, 0, comm);
	MPI_Sendrecv(out, 1, nested, (rank + 1) % ranks, 0, in, 1, nested,
		     (rank + ranks - 1) % ranks, 0, comm, MPI_STATUS_IGNORE);
	MPI_Type_free(&column);
	MPI_Type_free(&record);
	MPI_Type_free(&nested);
}

static void start_requests(MPI_Comm comm)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	MPI_Request requests[3];

	MPI_Send_init(out, 10, MPI_INT, next, 3, comm, &requests[0]);
	MPI_Recv_init(in, 20, MPI_INT, before, 3, comm, &requests[1]);
	MPI_Ssend_init(out, 30, MPI_INT, MPI_PROC_NULL, 3, comm, &requests[2]);
	for (int i = 0; i < 3; i++) {
		MPI_Startall(3, requests);
		MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
		MPI_Start(&requests[1]);
		MPI_Start(&requests[0]);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	}
	for (int i = 0; i < 3; i++)
		MPI_Request_free(&requests[i]);
}

static void use_window(MPI_Comm comm)
{
	int memory[ROOM], old = 0, next = (rank + 1) % ranks;
	MPI_Win window;

	memset(memory, 0, sizeof(memory));
	MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, comm, &window);
	MPI_Win_fence(0, window);
	MPI_Put(out, 7, MPI_INT, next, 0, 7, MPI_INT, window);
	MPI_Put(out, 7, MPI_INT, MPI_PROC_NULL, 0, 7, MPI_INT, window);
	MPI_Win_fence(0, window);
	MPI_Get(in, 9, MPI_INT, next, 0, 9, MPI_INT, window);
	MPI_Win_fence(0, window);
	MPI_Accumulate(out, 5, MPI_INT, next, 0, 5, MPI_INT, MPI_SUM, window);
	MPI_Win_fence(0, window);
	MPI_Fetch_and_op(out, &old, MPI_INT, next, 0, MPI_SUM, window);
	MPI_Win_fence(0, window);
	MPI_Win_free(&window);
}

/* Counts of 8 bytes. */
static void send_large(MPI_Comm comm)
{
#if MPI_VERSION >= 4
	MPI_Count many[MOST];
	MPI_Aint apart[MOST];

	for (int i = 0; i < ranks; i++) {
		many[i] = counts[i];
		apart[i] = places[i];
	}
	MPI_Bcast_c(out, 6, MPI_INT, 0, comm);
	MPI_Allgatherv_c(out, count_of(rank), MPI_INT, in, many, apart, MPI_INT, comm);
#else
	(void)comm;
#endif
}

/* Partitions of one size are sent, and received as those of another. */
static void send_parts(MPI_Comm comm)
{
#if MPI_VERSION >= 4
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	MPI_Request requests[2];

	MPI_Psend_init(out, 4, 5, MPI_INT, next, 9, comm, MPI_INFO_NULL, &requests[0]);
	MPI_Precv_init(in, 2, 10, MPI_INT, before, 9, comm, MPI_INFO_NULL, &requests[1]);
	for (int i = 0; i < 2; i++) {
		MPI_Start(&requests[1]);
		MPI_Start(&requests[0]);
		MPI_Pready_range(0, 2, requests[0]);
		MPI_Pready(3, requests[0]);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	}
	for (int i = 0; i < 2; i++)
		MPI_Request_free(&requests[i]);
#else
	(void)comm;
#endif
}

int main(int argc, char **argv)
{
	const char *given = getenv("OMPI_COMM_WORLD_SIZE");
	MPI_Comm all, reversed;

	ranks = atoi(given ? given : getenv("PMI_SIZE"));
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_dup(MPI_COMM_WORLD, &all);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
	set_counts();
	for (int i = 0; i < atoi(argv[1]); i++) {
		collect_counts(all);
		collect_later(all);
		exchange_types(all);
		start_requests(all);
		use_window(all);
		send_large(all);
		send_parts(all);
		MPI_Bcast(out, 4, MPI_INT, 0, reversed);
		MPI_Reduce(out, in, 4, MPI_INT, MPI_SUM, 0, reversed);
		MPI_Bcast(out, 4, MPI_INT, 0, MPI_COMM_SELF);
	}
	MPI_Comm_free(&reversed);
	MPI_Comm_free(&all);
	MPI_Finalize();
	return 0;
}
