/* SPDX-License-Identifier: MIT */
/*
 * A process of very many threads, of which most sleep: crowd SECONDS THREADS RUNNING. Beside them
 * the main thread, which starts processes.
 *
 * EXPECT: main;steady;main_leaf
 * EXPECT: main;steady;turn;@lib+
 * EXPECT: main;steady;turn;@plt
 * EXPECT: main;steady;turn;steady_child;child_leaf
 * EXPECT: main;steady;turn;steady_child;@lib+
 * EXPECT: main;steady;turn;steady_child;@plt
 * EXPECT: @thread;steady_one;one_leaf
 * EXPECT: @thread;steady_one;@lib+
 * EXPECT: @thread;steady_one;@plt
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "workload.h"

#define STACK 32768ul

static unsigned running;				 /* threads that run */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* closed until all are made */

static CALLEE void main_leaf(void)
{
	SPIN(LONG);
}

static CALLEE void one_leaf(void)
{
	SPIN(SHORT);
}

static CALLEE void *steady_one(void *arg)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	for (;;) {
		one_leaf();
		KEEP;
	}
	return arg;
}

static void *sleeper(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static CALLEE void child_leaf(void)
{
	SPIN(LONG);
}

static CALLEE void steady_child(void)
{
	child_leaf();
	KEEP;
	_exit(0);
}

static CALLEE void turn(void)
{
	pid_t child = fork();

	if (child == 0)
		steady_child();
	KEEP;
	waitpid(child, NULL, 0);
	KEEP;
}

static CALLEE void steady(void)
{
	for (;;) {
		for (int i = 0; i < 20; i++) {
			main_leaf();
			KEEP;
		}
		turn();
		KEEP;
	}
}

static void start(unsigned n)
{
	char *stacks = mmap(NULL, n * STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	/* While the kernel makes a large page of small ones, none of them can be read. */
	madvise(stacks, n * STACK, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < n; i++) {
		pthread_attr_t how;
		pthread_t thread;

		pthread_attr_init(&how);
		if (stacks == MAP_FAILED ||
		    pthread_attr_setstack(&how, stacks + i * STACK, STACK) ||
		    pthread_create(&thread, &how, i < running ? steady_one : sleeper, NULL))
			_exit(1);
	}
}

int main(int argc, char **argv)
{
	running = argc > 3 ? (unsigned)atoi(argv[3]) : 2;
	pthread_mutex_lock(&gate);
	start(argc > 2 ? (unsigned)atoi(argv[2]) : 2000);
	workload_ready(argc, argv);
	pthread_mutex_unlock(&gate);
	steady();
	return 0;
}
