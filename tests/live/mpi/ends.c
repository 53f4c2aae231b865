/* SPDX-License-Identifier: MIT */
/*
 * Calls of MPI of processes and threads that end in several ways: three threads call
 * MPI_Comm_rank() N times each, and end; the first thread calls MPI_Comm_size() N times; the child
 * of a fork ten times; then the process is killed.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 3

static int n;

static __attribute__((noinline)) void *ask_rank(void *none)
{
	int rank;

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
	kill(getpid(), SIGKILL);
	return 1;
}
