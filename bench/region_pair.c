/* SPDX-License-Identifier: MIT */
/*
 * Passes through a function of which regions.py measures the cost:
 * region_pair DEPTH CALLS FUNCTION [empty]
 *
 * Calls it CALLS times, at so many frames below main(), and prints the nanoseconds of CPU time that
 * a call takes. With "empty" it attaches a BPF program that does nothing to the function's entry
 * and return, by a uprobe and a uretprobe.
 *
 * FUNCTION is one of
 *   alone   a return: the kernel has to step the instruction, at the entry, too
 *   saving  it saves a register and restores it: the entry is emulated, the return is stepped
 *   checked it has a branch before the return: both are emulated where stackd puts its probes
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/empty_probe.h"

#define KEEP asm volatile("" : : : "memory")

void alone(void);
void saving(void);
void checked(void);

#define TYPE(name) ".globl " #name "\n.type " #name ", @function\n.p2align 4\n" #name ":\n"
#define SIZE(name) ".size " #name ", . - " #name "\n"

__asm__(TYPE(alone) "ret\n" SIZE(alone));
__asm__(TYPE(saving) ".cfi_startproc\npush %rbx\n.cfi_adjust_cfa_offset 8\nxor %eax, %eax\n"
		     "pop %rbx\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n" SIZE(saving));
__asm__(TYPE(checked) ".cfi_startproc\npush %rbx\n.cfi_adjust_cfa_offset 8\ntest %rsp, %rsp\n"
		      "je 1f\npop %rbx\n.cfi_adjust_cfa_offset -8\nret\n"
		      "1: ud2\n.cfi_endproc\n" SIZE(checked));

static void (*region)(void);

static double call_often(unsigned long calls)
{
	struct timespec start, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	for (unsigned long i = 0; i < calls; i++)
		region();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
	       (double)calls;
}

__attribute__((noinline)) static double descend(unsigned depth, unsigned long calls)
{
	double ns = depth ? descend(depth - 1, calls) : call_often(calls);

	KEEP;
	return ns;
}

/* Returns the offset of region() in the program's file; 0: it cannot be told. */
static uint64_t offset_of_region(void)
{
	uint64_t offset = 0, start;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && !offset && fgets(line, sizeof(line), maps)) {
		unsigned long from, to, at;

		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &at) != 3)
			continue;
		start = (uint64_t)(uintptr_t)region;
		if (start >= from && start < to)
			offset = start - from + at;
	}
	if (maps)
		fclose(maps);
	return offset;
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 2 ? (unsigned)atoi(argv[1]) : 10;
	unsigned long calls = argc > 2 ? strtoul(argv[2], NULL, 10) : 100000;
	const char *name = argc > 3 ? argv[3] : "alone";

	region = !strcmp(name, "saving") ? saving : !strcmp(name, "checked") ? checked : alone;
	if (argc > 4 && !strcmp(argv[4], "empty") &&
	    (empty_probe_attach("/proc/self/exe", offset_of_region(), 0) ||
	     empty_probe_attach("/proc/self/exe", offset_of_region(), 1))) {
		fprintf(stderr, "no uprobes here, or not root\n");
		return 1;
	}
	printf("%.1f\n", descend(depth, calls));
	return 0;
}
