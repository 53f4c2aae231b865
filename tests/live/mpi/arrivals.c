/* SPDX-License-Identifier: MIT */
/*
 * A program of MPI that tells what it has received, read and written: messages that are smaller
 * than the buffers they are received into, with a status and without, and files. What has arrived
 * is what MPI_Get_elements() says of the status; without one it is the size of the buffer.
 *
 *   arrivals ROUNDS FILE
 *
 * Each rank writes lines "function calls sent received read written at_most" into FILE.RANK.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1000, MOST_NAMES = 64, COUNTS = 6 };
enum { CALLS, SENT, RECEIVED, READ, WRITTEN, AT_MOST };

static struct {
	const char *name;
	long counts[COUNTS];
} truths[MOST_NAMES];

static int rank, ranks;
static int out[ROOM], in[ROOM];

static void count(const char *name, int what, long bytes)
{
	int i = 0;

	while (truths[i].name && strcmp(truths[i].name, name))
		i++;
	truths[i].name = name;
	truths[i].counts[what] += bytes;
}

/* A call of a function, and what it passes on. */
static void call(const char *name, int what, long bytes)
{
	count(name, CALLS, 1);
	count(name, what, bytes);
}

/* What has arrived in a buffer of so many numbers. */
static void arrive(const char *name, int what, int most, MPI_Status *status)
{
	int n = most;

	if (status != MPI_STATUS_IGNORE)
		PMPI_Get_elements(status, MPI_INT, &n);
	else
		count(name, AT_MOST, 4L * most);
	count(name, what, 4L * n);
}

static void send(int n, int to, int tag)
{
	MPI_Send(out, n, MPI_INT, to, tag, MPI_COMM_WORLD);
	call("mpi_send", SENT, to == MPI_PROC_NULL ? 0 : 4L * n);
}

static void receive(int most, int from, int tag, MPI_Status *status)
{
	MPI_Recv(in, most, MPI_INT, from, tag, MPI_COMM_WORLD, status);
	count("mpi_recv", CALLS, 1);
	arrive("mpi_recv", RECEIVED, from == MPI_PROC_NULL ? 0 : most, status);
}

static void receive_messages(int round)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	MPI_Message message;
	MPI_Status status;

	for (int i = 0; i < 3; i++)
		send(round % 7 + i, next, 1);
	receive(100, before, 1, &status);
	receive(100, MPI_ANY_SOURCE, MPI_ANY_TAG, &status);
	receive(100, before, 1, MPI_STATUS_IGNORE);
	receive(100, MPI_PROC_NULL, 1, &status);
	send(5, MPI_PROC_NULL, 1);
	MPI_Sendrecv(out, 9, MPI_INT, next, 2, in, 50, MPI_INT, before, 2, MPI_COMM_WORLD, &status);
	call("mpi_sendrecv", SENT, 36);
	arrive("mpi_sendrecv", RECEIVED, 50, &status);
	MPI_Sendrecv(out, 9, MPI_INT, next, 2, in, 50, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD,
		     &status);
	call("mpi_sendrecv", SENT, 36);
	MPI_Sendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 2, in, 50, MPI_INT, before, 2, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	call("mpi_sendrecv", RECEIVED, 200);
	count("mpi_sendrecv", AT_MOST, 200);
	send(11, next, 3);
	MPI_Mprobe(before, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
	count("mpi_mprobe", CALLS, 1);
	MPI_Mrecv(in, 200, MPI_INT, &message, &status);
	count("mpi_mrecv", CALLS, 1);
	arrive("mpi_mrecv", RECEIVED, 200, &status);
}

/* --- requests -------------------------------------------------------------------------------- */

enum { REQUESTS = 4 };

/* Sends 1, 2, .. numbers, which come into buffers of 20. */
static void post(MPI_Request *requests)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

	for (int i = 0; i < REQUESTS; i++) {
		MPI_Irecv(in + 20 * i, 20, MPI_INT, before, 10 + i, MPI_COMM_WORLD, &requests[i]);
		count("mpi_irecv", CALLS, 1);
	}
	for (int i = 0; i < REQUESTS; i++)
		send(i + 1, next, 10 + i);
}

static void wait_one_by_one(void)
{
	MPI_Request requests[REQUESTS];
	MPI_Status status;
	int flag, index;

	post(requests);
	MPI_Wait(&requests[2], &status);
	count("mpi_wait", CALLS, 1);
	arrive("mpi_irecv", RECEIVED, 20, &status);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	count("mpi_wait", CALLS, 1);
	arrive("mpi_irecv", RECEIVED, 20, MPI_STATUS_IGNORE);
	do {
		MPI_Test(&requests[1], &flag, &status);
		count("mpi_test", CALLS, 1);
	} while (!flag);
	arrive("mpi_irecv", RECEIVED, 20, &status);
	MPI_Waitany(REQUESTS, requests, &index, &status);
	count("mpi_waitany", CALLS, 1);
	arrive("mpi_irecv", RECEIVED, 20, &status);
}

static void wait_for_any(void)
{
	MPI_Request requests[REQUESTS];
	MPI_Status statuses[REQUESTS];
	int indices[REQUESTS], flag, index, n, done = 0;

	post(requests);
	do {
		MPI_Testany(REQUESTS, requests, &index, &flag, statuses);
		count("mpi_testany", CALLS, 1);
	} while (!flag);
	arrive("mpi_irecv", RECEIVED, 20, statuses);
	while (done < REQUESTS - 1) {
		if (done)
			MPI_Waitsome(REQUESTS, requests, &n, indices, statuses);
		else
			MPI_Testsome(REQUESTS, requests, &n, indices, statuses);
		count(done ? "mpi_waitsome" : "mpi_testsome", CALLS, 1);
		for (int i = 0; i < n; i++)
			arrive("mpi_irecv", RECEIVED, 20, &statuses[i]);
		done += n;
	}
}

static void wait_for_all(void)
{
	MPI_Request requests[REQUESTS];
	MPI_Status statuses[REQUESTS];
	int flag;

	post(requests);
	MPI_Waitall(REQUESTS, requests, statuses);
	count("mpi_waitall", CALLS, 1);
	for (int i = 0; i < REQUESTS; i++)
		arrive("mpi_irecv", RECEIVED, 20, &statuses[i]);
	post(requests);
	do {
		MPI_Testall(REQUESTS, requests, &flag, statuses);
		count("mpi_testall", CALLS, 1);
	} while (!flag);
	for (int i = 0; i < REQUESTS; i++)
		arrive("mpi_irecv", RECEIVED, 20, &statuses[i]);
	post(requests);
	MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE);
	count("mpi_waitall", CALLS, 1);
	for (int i = 0; i < REQUESTS; i++)
		arrive("mpi_irecv", RECEIVED, 20, MPI_STATUS_IGNORE);
}

/* What persistent requests receive is that of their starts. A request of another kind can have a
 * handle that was one of a receive. */
static void start_again(void)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	MPI_Request requests[2], other;
	MPI_Status statuses[2], status;

	MPI_Recv_init(in, 60, MPI_INT, before, 20, MPI_COMM_WORLD, &requests[0]);
	MPI_Recv_init(in + 100, 70, MPI_INT, before, 21, MPI_COMM_WORLD, &requests[1]);
	count("mpi_recv_init", CALLS, 2);
	for (int i = 0; i < 3; i++) {
		MPI_Startall(2, requests);
		count("mpi_startall", CALLS, 1);
		send(i, next, 20);
		MPI_Isend(out, 8, MPI_INT, next, 21, MPI_COMM_WORLD, &other);
		call("mpi_isend", SENT, 32);
		MPI_Waitall(2, requests, statuses);
		count("mpi_waitall", CALLS, 1);
		arrive("mpi_startall", RECEIVED, 60, &statuses[0]);
		arrive("mpi_startall", RECEIVED, 70, &statuses[1]);
		MPI_Wait(&other, &status);
		count("mpi_wait", CALLS, 1);
	}
	PMPI_Request_free(&requests[0]);
	PMPI_Request_free(&requests[1]);
	count("mpi_request_free", CALLS, 2);
}

/* --- files ----------------------------------------------------------------------------------- */

#define WRITE(name, n, ...)                                                                        \
	do {                                                                                       \
		MPI_File_##name(__VA_ARGS__);                                                      \
		call("mpi_file_" #name, WRITTEN, 4L * (n));                                        \
	} while (0)

#define READ_IN(name, n, status, ...)                                                              \
	do {                                                                                       \
		MPI_File_##name(__VA_ARGS__, status);                                              \
		count("mpi_file_" #name, CALLS, 1);                                                \
		arrive("mpi_file_" #name, READ, n, status);                                        \
	} while (0)

/* Functions that tell later, or never, how much was read. */
#define READ_LATER(name, n, ...)                                                                   \
	do {                                                                                       \
		MPI_File_##name(__VA_ARGS__);                                                      \
		call("mpi_file_" #name, READ, 4L * (n));                                           \
		count("mpi_file_" #name, AT_MOST, 4L * (n));                                       \
	} while (0)

static void wait_for(MPI_Request *request)
{
	MPI_Wait(request, MPI_STATUS_IGNORE);
	count("mpi_wait", CALLS, 1);
}

static void write_file(MPI_File f)
{
	MPI_Offset own = 400L * rank;
	MPI_Request request;
	MPI_Status status;

	WRITE(write_at, 10, f, own, out, 10, MPI_INT, &status);
	WRITE(write_at_all, 20, f, own, out, 20, MPI_INT, MPI_STATUS_IGNORE);
	WRITE(write, 5, f, out, 5, MPI_INT, &status);
	WRITE(write_all, 6, f, out, 6, MPI_INT, &status);
	WRITE(write_shared, 7, f, out, 7, MPI_INT, &status);
	WRITE(write_ordered, 8, f, out, 8, MPI_INT, &status);
	WRITE(iwrite_at, 9, f, own, out, 9, MPI_INT, &request);
	wait_for(&request);
	WRITE(write_at_all_begin, 100, f, own, out, 100, MPI_INT);
	MPI_File_write_at_all_end(f, out, &status);
	count("mpi_file_write_at_all_end", CALLS, 1);
	MPI_Barrier(MPI_COMM_WORLD);
	count("mpi_barrier", CALLS, 1);
}

/* Some of what is asked for is beyond the end of the file. */
static void read_file(MPI_File f)
{
	MPI_Offset own = 400L * rank;
	MPI_Request request;
	MPI_Status status;

	READ_IN(read_at, 10, &status, f, own, in, 10, MPI_INT);
	READ_IN(read_at, 700, &status, f, own, in, 700, MPI_INT);
	READ_IN(read_at, 700, MPI_STATUS_IGNORE, f, own, in, 700, MPI_INT);
	READ_IN(read_at_all, 100, &status, f, own, in, 100, MPI_INT);
	READ_IN(read, 3, &status, f, in, 3, MPI_INT);
	READ_IN(read_all, 4, &status, f, in, 4, MPI_INT);
	READ_LATER(iread_at, 30, f, own, in, 30, MPI_INT, &request);
	wait_for(&request);
	MPI_File_iread_at(f, own, in, 50, MPI_INT, &request);
	count("mpi_file_iread_at", CALLS, 1);
	MPI_Wait(&request, &status);
	count("mpi_wait", CALLS, 1);
	arrive("mpi_file_iread_at", READ, 50, &status);
	READ_LATER(read_at_all_begin, 40, f, own, in, 40, MPI_INT);
	MPI_File_read_at_all_end(f, in, &status);
	count("mpi_file_read_at_all_end", CALLS, 1);
}

static void tell(const char *path)
{
	char name[4096];
	FILE *file;

	snprintf(name, sizeof(name), "%s.%d", path, rank);
	file = fopen(name, "w");
	for (int i = 0; file && truths[i].name; i++) {
		fprintf(file, "%s", truths[i].name);
		for (int c = 0; c < COUNTS; c++)
			fprintf(file, " %ld", truths[i].counts[c]);
		fprintf(file, "\n");
	}
	if (file)
		fclose(file);
}

int main(int argc, char **argv)
{
	MPI_File file;

	MPI_Init(&argc, &argv);
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < atoi(argv[1]); i++)
		receive_messages(i);
	for (int i = 0; i < atoi(argv[1]); i++) {
		wait_one_by_one();
		wait_for_any();
		wait_for_all();
		start_again();
	}
	PMPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
		       &file);
	for (int i = 0; i < atoi(argv[1]); i++)
		write_file(file);
	for (int i = 0; i < atoi(argv[1]); i++)
		read_file(file);
	PMPI_File_close(&file);
	MPI_Finalize();
	tell(argv[2]);
	return 0;
}
