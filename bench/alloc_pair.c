/* SPDX-License-Identifier: MIT */
/*
 * What libstackalloc costs a pair of malloc() and free(): alloc_pair [LIBRARY]
 *
 * Runs pairs in processes of its own, without the library, with it while nobody listens, while the
 * kernel's probe is attached but no block is sampled, and with samples. Prints for each the best
 * time of a pair, what it takes more than without the library, and the instructions of a pair,
 * which are counted by executing them one by one. The blocks are of 64 bytes, from the allocator's
 * own cache: the cheapest pair, for which the library's part is largest.
 *
 * The probe is perf's (a uprobe with a semaphore), which needs root. Ends with 1 if a target is
 * missed: 1 ns more with nobody attached, 3 ns more attached without samples.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/regions/alloc_library.h"

#define PAIRS	  2000000u /* in a run */
#define RUNS	  25
#define BLOCK	  64u
#define STEPPED	  64u /* pairs that are executed one instruction at a time */
#define NO_SAMPLE "1000000000000000"

enum setting { WITHOUT, DETACHED, ATTACHED, SAMPLED, SETTINGS };

static const char *const names[SETTINGS] = {"without the library", "nobody listens",
					    "attached, no sample", "attached, 512 KiB"};

/* --- in the process that is measured ------------------------------------------------------------
 */

static void run_pairs(unsigned pairs)
{
	for (unsigned i = 0; i < pairs; i++) {
		void *block = malloc(BLOCK);

		__asm__ volatile("" : "+r"(block) : : "memory");
		free(block);
	}
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Prints the best time of a pair. */
static int measure_time(void)
{
	double best = 1e9;

	run_pairs(PAIRS / 10);
	for (int i = 0; i < RUNS; i++) {
		double start = now_ns(), is;

		run_pairs(PAIRS);
		is = (now_ns() - start) / PAIRS;
		best = is < best ? is : best;
	}
	printf("%.4f\n", best);
	return 0;
}

/* Stops around pairs, for the parent to step through them. */
static int be_stepped(void)
{
	run_pairs(1000);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGUSR1);
	run_pairs(STEPPED);
	raise(SIGUSR1);
	run_pairs(2 * STEPPED);
	raise(SIGUSR1);
	return 0;
}

/* --- the probe ----------------------------------------------------------------------------------
 */

/* Attaches to otel_memory:alloc as perf does, which raises the semaphore. 0, or 1 if that fails.
 * The event lasts until this process ends. */
static int attach(const char *library)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .config1 = (uintptr_t)library};
	FILE *type = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	uint64_t offset = 0, semaphore = 0;
	int fd = -1;

	if (type && fscanf(type, "%u", &attr.type) == 1 &&
	    alloc_library_probe(library, "alloc", &offset, &semaphore) == 0) {
		attr.config = semaphore << 32;
		attr.config2 = offset;
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	}
	if (type)
		fclose(type);
	if (fd < 0)
		perror("alloc_pair: the probe cannot be attached");
	return fd < 0;
}

/* --- the processes ------------------------------------------------------------------------------
 */

/* Becomes the process that is measured. */
static void become(enum setting setting, const char *library, const char *what)
{
	if (setting != WITHOUT)
		setenv("LD_PRELOAD", library, 1);
	if (setting == ATTACHED)
		setenv("STACKALLOC_BYTES", NO_SAMPLE, 1);
	execl("/proc/self/exe", "alloc_pair", what, (char *)NULL);
	_exit(127);
}

static double time_of(enum setting setting, const char *library)
{
	double ns = -1;
	char text[64] = "";
	int ends[2];
	pid_t child;

	if (pipe(ends) != 0 || (child = fork()) < 0)
		return -1;
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		become(setting, library, "--time");
	}
	close(ends[1]);
	if (read(ends[0], text, sizeof(text) - 1) > 0)
		ns = strtod(text, NULL);
	close(ends[0]);
	waitpid(child, NULL, 0);
	return ns;
}

/* Steps until the next signal that is not a step's, and returns the number of steps. */
static unsigned steps(pid_t child)
{
	int status = 0;

	for (unsigned n = 0;; n++) {
		ptrace(PTRACE_SINGLESTEP, child, 0, 0);
		if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status) ||
		    WSTOPSIG(status) != SIGTRAP)
			return n;
	}
}

/* Stepping through twice as many pairs cancels all that is around them. */
static double instructions_of(enum setting setting, const char *library)
{
	pid_t child = fork();
	unsigned once, twice;

	if (child == 0)
		become(setting, library, "--stepped");
	waitpid(child, NULL, 0);
	once = steps(child);
	twice = steps(child);
	ptrace(PTRACE_KILL, child, 0, 0);
	waitpid(child, NULL, 0);
	return (twice - once) / (double)STEPPED;
}

static bool measure(const char *library)
{
	double ns[SETTINGS] = {1e9, 1e9, 1e9, 1e9}, instructions[SETTINGS];
	bool is_met;

	/* Half of the rounds before the probe is attached, half with it; without the library in
	 * all. */
	for (int round = 0; round < 8; round++) {
		if (round == 4 && attach(library))
			return false;
		for (int i = 0; i < SETTINGS; i++) {
			double is = -1;

			if (i == WITHOUT || (i == DETACHED) == (round < 4))
				is = time_of((enum setting)i, library);
			ns[i] = is > 0 && is < ns[i] ? is : ns[i];
			if (is > 0)
				instructions[i] = instructions_of((enum setting)i, library);
		}
	}
	printf("%-22s %8s %8s %13s %8s\n", "", "ns/pair", "more", "instructions", "more");
	for (int i = 0; i < SETTINGS; i++)
		printf("%-22s %8.2f %8.2f %13.1f %8.1f\n", names[i], ns[i], ns[i] - ns[WITHOUT],
		       instructions[i], instructions[i] - instructions[WITHOUT]);
	is_met = ns[DETACHED] - ns[WITHOUT] <= 1 && ns[ATTACHED] - ns[WITHOUT] <= 3;
	printf("target: at most 1 ns more with nobody attached, 3 ns more without samples: %s\n",
	       is_met ? "met" : "MISSED");
	return is_met;
}

int main(int argc, char **argv)
{
	char library[4096];

	if (argc > 1 && strcmp(argv[1], "--time") == 0)
		return measure_time();
	if (argc > 1 && strcmp(argv[1], "--stepped") == 0)
		return be_stepped();
	if (!realpath(argc > 1 ? argv[1] : "build/libstackalloc.so", library)) {
		perror("alloc_pair: libstackalloc.so");
		return 2;
	}
	return measure(library) ? 0 : 1;
}
