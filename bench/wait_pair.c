/* SPDX-License-Identifier: MIT */
/*
 * Two threads on one CPU that wake each other by turns, of which waits.py measures the cost:
 * wait_pair SECONDS [futex|pipe [RATE]]
 *
 * Prints the nanoseconds that a switch takes, which is the lowest tenth of those of all stretches
 * of 2,000 switches: a host takes the CPU for whole stretches. With RATE the threads pause so that
 * there are so many switches a second. The CPU is the last one that the program may use.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SWITCHES 2000 /* of a stretch */
#define MOST	 100000

static int pipes[2][2], is_futex;
static volatile uint32_t turn; /* of a futex: whose it is */
static volatile int is_over;
static double stretches[MOST];
static size_t n_stretches;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void give(uint32_t to)
{
	if (!is_futex) {
		if (write(pipes[to][1], "", 1) != 1)
			exit(1);
		return;
	}
	turn = to;
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void take(uint32_t own)
{
	char byte;

	if (!is_futex) {
		if (read(pipes[own][0], &byte, 1) != 1)
			exit(1);
		return;
	}
	while (turn != own)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, 1 - own, NULL, NULL, 0);
}

static void *answer(void *none)
{
	int is_last;

	do {
		take(1);
		is_last = is_over;
		give(0);
	} while (!is_last);
	return none;
}

/* Keeps the CPU until then. */
static void pause_until(uint64_t time)
{
	while (now() < time)
		;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void stay_on_one_cpu(void)
{
	cpu_set_t set;
	int last = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		exit(1);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		last = CPU_ISSET(cpu, &set) ? cpu : last;
	CPU_ZERO(&set);
	CPU_SET(last, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		exit(1);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	double rate = argc > 3 ? strtod(argv[3], NULL) : 0;
	uint64_t start, end, next;
	pthread_t other;

	is_futex = argc > 2 && !strcmp(argv[2], "futex");
	stay_on_one_cpu();
	if (pipe(pipes[0]) || pipe(pipes[1]) || pthread_create(&other, NULL, answer, NULL))
		return 1;
	next = now();
	end = next + (uint64_t)(seconds * 1e9);
	while (next < end && n_stretches < MOST) {
		start = now();
		for (int i = 0; i < SWITCHES / 2; i++) {
			give(1);
			take(0);
		}
		stretches[n_stretches++] = (double)(now() - start) / SWITCHES;
		next = rate > 0 ? start + (uint64_t)(SWITCHES * 1e9 / rate) : now();
		pause_until(next);
	}
	is_over = 1;
	give(1);
	take(0);
	pthread_join(other, NULL);
	qsort(stretches, n_stretches, sizeof(*stretches), by_value);
	printf("%.1f\n", n_stretches ? stretches[n_stretches / 10] : 0.0);
	return 0;
}
