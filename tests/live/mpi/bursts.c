/* SPDX-License-Identifier: MIT */
/*
 * Computes bursts of known kinds between calls of MPI, and says how many of each there were:
 *
 *   bursts ROUNDS [UNIT_US]
 *
 * In each round, with UNIT of the thread's CPU time (1 ms):
 *
 *   short    2 units   from the reduction in step() to the barrier in step()
 *   long     9 units   the same, in every third round
 *   middle   2 units   from the barrier in step() to the reduction in exchange()
 *   pages    2 units   the same, in every other round; touches 500 pages first
 *   end      4 units   from the reduction in exchange() to that in step()
 *
 * The program itself measures each from the return of one call to the next. A line for each kind
 * of a rank: its name, how many there were, and how many of these were disturbed: took a tenth more
 * than they should have, since a machine that is taken away at their ends goes on with their CPU
 * time, or had other page faults than their own.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#define PAGES	  500
#define PAGE_SIZE 4096

enum kind { SHORT, LONG, MIDDLE, PAGED, END, KINDS };

static const char *const names[KINDS] = {"short", "long", "middle", "pages", "end"};
static const int units[KINDS] = {2, 9, 2, 2, 4};
static unsigned long counts[KINDS], disturbed[KINDS];
static long unit_ns = 1000000;
static volatile unsigned long sink;

/* A burst that takes longer has a whole window of the recording without a call in it: the counters
 * at its beginning are not known then. */
#define MOST_WALL_NS 1000000000ll

/* The burst under way: when it began, the thread's page faults until then, and its kind. */
static long long begun_ns, begun_wall_ns;
static long begun_faults;
static enum kind is;

static long long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long cpu_ns(void)
{
	return now_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void touch_pages(void)
{
	char *pages = mmap(NULL, (size_t)PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		abort();
	madvise(pages, (size_t)PAGES * PAGE_SIZE, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		pages[(size_t)i * PAGE_SIZE] = 1;
	munmap(pages, (size_t)PAGES * PAGE_SIZE);
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* Behind a call of MPI, and before the next one. */
static void begin_burst(void)
{
	begun_faults = faults();
	begun_wall_ns = now_ns(CLOCK_MONOTONIC);
	begun_ns = cpu_ns();
}

static void end_burst(void)
{
	const long long length = units[is] * unit_ns, took = cpu_ns() - begun_ns;
	const long long wall = now_ns(CLOCK_MONOTONIC) - begun_wall_ns;
	const long met = faults() - begun_faults;

	counts[is]++;
	disturbed[is] += took * 10 > length * 11 || wall > MOST_WALL_NS ||
			 (is == PAGED ? met < PAGES || met > PAGES + PAGES / 20 : met > 0);
}

__attribute__((noinline)) static void compute(enum kind kind)
{
	const long long begin = cpu_ns(), length = units[kind] * unit_ns;

	is = kind;
	if (kind == PAGED)
		touch_pages();
	while (cpu_ns() - begin < length)
		for (int i = 0; i < 1000; i++)
			sink += (unsigned long)i;
}

__attribute__((noinline)) static void exchange(void)
{
	int in = 1, out;

	end_burst();
	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	begin_burst();
	compute(END);
}

__attribute__((noinline)) static void step(unsigned long round)
{
	int in = 1, out;

	compute(round % 3 == 2 ? LONG : SHORT);
	end_burst();
	MPI_Barrier(MPI_COMM_WORLD);
	begin_burst();
	compute(round % 2 ? PAGED : MIDDLE);
	exchange();
	end_burst();
	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	begin_burst();
}

int main(int argc, char **argv)
{
	const unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 100;
	int rank;

	unit_ns = argc > 2 ? strtol(argv[2], NULL, 0) * 1000 : unit_ns;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	begin_burst();
	for (unsigned long i = 0; i < rounds; i++)
		step(i);
	for (int i = 0; i < KINDS; i++)
		printf("%d %s %lu %lu\n", rank, names[i], counts[i], disturbed[i]);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}
