/* SPDX-License-Identifier: MIT */
/*
 * Threads that spend known CPU time in regions and outside of them. Three threads, which work for
 * longer and longer, pass through argv[1] rounds each: outside (one_thing and another, by chance),
 * in `region`, which has `region` within it again, in `left`, which longjmp() leaves, right after
 * it in a region of some microseconds, and asleep. At its end each says
 *
 *   TID CPU_NS ONE_NS ANOTHER_NS
 *
 * its whole CPU time and what it spent in one_thing and in another.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

enum { THREADS = 3 };

struct worker {
	unsigned seed;
	unsigned rounds;
	unsigned long step_ns, one_ns, another_ns;
	jmp_buf back;
};

static __thread volatile unsigned long sink;

static unsigned long cpu_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (unsigned long)time.tv_sec * 1000000000ul + (unsigned long)time.tv_nsec;
}

/* Returns how long it took. */
static __attribute__((noinline)) unsigned long spin(unsigned long ns)
{
	unsigned long start = cpu_now(), end;

	do {
		for (int i = 0; i < 100; i++)
			sink++;
		end = cpu_now();
	} while (end < start + ns);
	return end - start;
}

__attribute__((noinline)) void one_thing(struct worker *w, unsigned long ns)
{
	w->one_ns += spin(ns);
}

__attribute__((noinline)) void another(struct worker *w, unsigned long ns)
{
	w->another_ns += spin(ns);
}

__attribute__((noinline)) void region(unsigned long ns, int depth)
{
	spin(ns);
	if (depth)
		region(ns / 2, depth - 1);
	sink++;
}

__attribute__((noinline)) void left(struct worker *w)
{
	region(100000, 0);
	spin(100000);
	longjmp(w->back, 1);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (volatile unsigned i = 0; i < w->rounds; i++) {
		if (rand_r(&w->seed) % 3)
			one_thing(w, w->step_ns);
		else
			another(w, w->step_ns);
		region(300000, 2);
		if (!setjmp(w->back))
			left(w);
		region(1000, 0); /* here the thread is seen again */
		usleep(200);
	}
	printf("%ld %lu %lu %lu\n", syscall(SYS_gettid), cpu_now(), w->one_ns, w->another_ns);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS];
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.seed = i + 1,
					     .rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1,
					     .step_ns = 1000000 * (i + 1)};
		pthread_create(&threads[i], NULL, work, &workers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
