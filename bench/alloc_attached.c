/* SPDX-License-Identifier: MIT */
/*
 * Measures a pair of malloc() and free(), to which bench/alloc_cost.py attaches stackd:
 * alloc_attached PAIRS [empty|wait]
 *
 * Prints the nanoseconds of CPU time of a pair. With "wait" it waits for SIGUSR1 first. With
 * "empty" it attaches a BPF program that does nothing to malloc()'s entry and return and to
 * free()'s entry, the fewest probes that see both ends of a block.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/empty_probe.h"

#define BLOCK 64u

static void go_on(int signal)
{
	(void)signal;
}

static void wait_for_signal(void)
{
	signal(SIGUSR1, go_on);
	pause();
}

static double run_pairs(unsigned long pairs)
{
	struct timespec start, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	for (unsigned long i = 0; i < pairs; i++) {
		void *block = malloc(BLOCK);

		__asm__ volatile("" : "+r"(block) : : "memory");
		free(block);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
	       (double)pairs;
}

/* Attaches an empty program to a function of a library; 0 or -errno. */
static int attach(const char *name, int is_return)
{
	const void *function = dlsym(RTLD_DEFAULT, name);
	Dl_info info;

	if (!function || !dladdr(function, &info))
		return -ENOENT;
	return empty_probe_attach(info.dli_fname, (uintptr_t)function - (uintptr_t)info.dli_fbase,
				  is_return);
}

int main(int argc, char **argv)
{
	unsigned long pairs = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;

	if (argc > 2 && !strcmp(argv[2], "empty") &&
	    (attach("malloc", 0) || attach("malloc", 1) || attach("free", 0))) {
		fprintf(stderr, "no uprobes here, or not root\n");
		return 1;
	}
	if (argc > 2 && !strcmp(argv[2], "wait"))
		wait_for_signal();
	run_pairs(pairs / 10);
	printf("%.1f\n", run_pairs(pairs));
	return 0;
}
