/* SPDX-License-Identifier: MIT */
/*
 * Calls of MPI of processes and threads that end in several ways: three threads call
 * MPI_Comm_rank() N times each, and end; the first thread calls MPI_Comm_size() N times; the child
 * of a fork ten times, and that of another one, which aborts. Each of the three is within a named
 * region. Then it makes calls that fail, and some that do not, and is killed.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../arch/x86_64/stackd_region.h"

#define THREADS 3

static int n;

static __attribute__((noinline)) void *ask_rank(void *none)
{
	int rank;

	STACKD_REGION("asks");
	for (int i = 0; i < n; i++)
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	return none;
}

static __attribute__((noinline)) void ask_size(int times)
{
	int size;

	for (int i = 0; i < times; i++)
		MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* MPI checks arguments and returns errors. Of all these, one message of 40 bytes is transferred. */
static void fail(void)
{
	int words[10] = {0}, got[10], n_done = 1000000, done[2] = {1000000, 1000000};
	MPI_Request request = MPI_REQUEST_NULL;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	for (int i = 0; i < 5; i++) {
		MPI_Send(words, 10, MPI_INT, 99, 0, MPI_COMM_SELF);
		MPI_Irecv(words, 10, MPI_INT, 99, 0, MPI_COMM_SELF, &request);
		MPI_Alltoallv(words, NULL, NULL, MPI_INT, words, NULL, NULL, MPI_INT,
			      MPI_COMM_NULL);
		MPI_Wait(NULL, MPI_STATUS_IGNORE);
		MPI_Waitsome(2, NULL, &n_done, done, MPI_STATUSES_IGNORE);
		MPI_Request_free(NULL);
	}
	MPI_Irecv(got, 10, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
	MPI_Send(words, 10, MPI_INT, 0, 0, MPI_COMM_SELF);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int provided;
	pid_t child;

	n = argc > 1 ? atoi(argv[1]) : 1000;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, ask_rank, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ask_size(n);
	child = fork();
	if (!child) {
		ask_size(10);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	child = fork();
	if (!child) {
		ask_size(10);
		abort();
	}
	waitpid(child, NULL, 0);
	fail();
	kill(getpid(), SIGKILL);
	return 1;
}
