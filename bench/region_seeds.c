/* SPDX-License-Identifier: MIT */
/*
 * region_seeds SEED MS: a known amount of CPU time in two functions outside of regions, one_thing
 * and another, beside regions that are nested, recursive, left by longjmp(), and of about 1 us.
 * What comes next is chance: pieces of exponential length, 150 us on the average, so that samples a
 * millisecond apart are independent of each other. At its end it says
 *
 *   CPU_NS ONE_NS ANOTHER_NS
 *
 * the CPU time of the thread that does it, and what it spent in the two.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PIECE_NS 150000.0

static unsigned short state[3];
static unsigned long one_ns, another_ns;
static volatile unsigned long sink;
static jmp_buf back;

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
		for (int i = 0; i < 20; i++)
			sink++;
		end = cpu_now();
	} while (end < start + ns);
	return end - start;
}

static __attribute__((noinline)) void one_thing(unsigned long ns)
{
	one_ns += spin(ns);
}

static __attribute__((noinline)) void another(unsigned long ns)
{
	another_ns += spin(ns);
}

static __attribute__((noinline)) void inner(unsigned long ns)
{
	spin(ns);
	sink++;
}

static __attribute__((noinline)) void outer(unsigned long ns)
{
	spin(ns / 2);
	inner(ns / 2);
	sink++;
}

static __attribute__((noinline)) void climb(unsigned long ns, int depth)
{
	spin(ns / 4);
	if (depth)
		climb(ns, depth - 1);
	sink++;
}

static __attribute__((noinline)) void brief(void)
{
	for (int i = 0; i < 200; i++)
		sink++;
}

static __attribute__((noinline)) void left(unsigned long ns)
{
	spin(ns);
	longjmp(back, 1);
}

static unsigned long piece(void)
{
	return (unsigned long)(-log(1 - erand48(state)) * PIECE_NS);
}

static void one_of_all(void)
{
	const double chance = erand48(state);

	if (chance < 0.2)
		one_thing(piece());
	else if (chance < 0.6)
		another(piece());
	else if (chance < 0.7)
		outer(piece());
	else if (chance < 0.8)
		climb(piece(), 3);
	else if (chance < 0.9)
		brief();
	else if (!setjmp(back))
		left(piece() / 4);
}

/* A thread of its own has no CPU time from before it was sampled. */
static void *work(void *arg)
{
	const unsigned long ns = *(const unsigned long *)arg;

	while (cpu_now() < ns)
		one_of_all();
	printf("%lu %lu %lu\n", cpu_now(), one_ns, another_ns);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long ns = (argc > 2 ? strtoul(argv[2], NULL, 10) : 400) * 1000000;
	pthread_t thread;

	state[0] = (unsigned short)(argc > 1 ? atoi(argv[1]) : 1);
	state[1] = 0x1234;
	if (pthread_create(&thread, NULL, work, &ns))
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
