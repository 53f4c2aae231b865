/* SPDX-License-Identifier: MIT */
/*
 * What a pair of malloc() and free() takes, which bench/alloc_cost.py has stackd listen to:
 * alloc_attached PAIRS [empty]
 *
 * Prints the nanoseconds of CPU time of a pair. With "empty" it attaches a BPF program that does
 * nothing to malloc()'s entry and return and to free()'s entry, which are the fewest probes that
 * hear of both ends.
 */
#include <bpf/bpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

/* Attaches an empty program where a function of a library begins or returns; 0 or -errno. The
 * events stay open. */
static int attach(const void *function, int is_return)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	struct perf_event_attr attr = {.size = sizeof(attr), .config = (uint64_t)is_return};
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", nothing, 2, NULL), event;
	Dl_info info;

	if (!file || program < 0 || fscanf(file, "%u", &attr.type) != 1 || !dladdr(function, &info))
		return -ENODEV;
	fclose(file);
	attr.config1 = (uint64_t)(uintptr_t)info.dli_fname;
	attr.config2 = (uint64_t)((uintptr_t)function - (uintptr_t)info.dli_fbase);
	event = (int)syscall(SYS_perf_event_open, &attr, getpid(), -1, -1, 0);
	if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, program) ||
	    ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long pairs = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;

	if (argc > 2 && !strcmp(argv[2], "empty") &&
	    (attach(dlsym(RTLD_DEFAULT, "malloc"), 0) || attach(dlsym(RTLD_DEFAULT, "malloc"), 1) ||
	     attach(dlsym(RTLD_DEFAULT, "free"), 0))) {
		fprintf(stderr, "no uprobes here, or not root\n");
		return 1;
	}
	if (argc > 2 && !strcmp(argv[2], "wait"))
		wait_for_signal();
	run_pairs(pairs / 10);
	printf("%.1f\n", run_pairs(pairs));
	return 0;
}
