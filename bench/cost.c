/* SPDX-License-Identifier: MIT */
/*
 * Counts the cost of walks: cost OBJECT FILE... runs stackd's sampler, as it is in the BPF object,
 * on the recorded stacks of each file (cost_stacks.h). It prints "compiler NAME", that of the
 * object, and for each file a line of sums: words as "name=number".
 *
 * The first samples of a file fill the caches of rules and mappings; those that are counted are
 * each from cold, as for the processor's caches. A walk that does not come to the root with all
 * frames ends the process: its cost would be that of something else.
 */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost_helpers.h"
#include "cost_vm_state.h"
#include "cost_world.h"
#include "kernel_types.h"

static struct world world;

/* --- a recording ---------------------------------------------------------------------------- */

/* What was counted for a sample must be a walk to the root. */
static void check_walk(const char *path, size_t number, const struct stacks_sample *sample,
		       const struct stackd_counters *before, const struct stackd_counters *after)
{
	uint64_t frames = after->n[STACKD_COUNT_FRAMES] + after->n[STACKD_COUNT_KEPT] -
			  before->n[STACKD_COUNT_FRAMES] - before->n[STACKD_COUNT_KEPT];

	if (frames != sample->depth ||
	    after->n[STACKD_COUNT_SENT] == before->n[STACKD_COUNT_SENT] ||
	    after->n[STACKD_COUNT_FALLBACKS] != before->n[STACKD_COUNT_FALLBACKS])
		vm_die("%s: sample %zu: the walk has %llu frames of %u", path, number,
		       (unsigned long long)frames, sample->depth);
}

static void print_compiler(const char *object)
{
	struct vm *vm = vm_new(object, "perf_event");

	printf("compiler %s\n", (const char *)vm_variable(vm, "compiler"));
	vm_free(vm);
}

static void count_file(const char *object, const char *path)
{
	struct vm *vm = vm_new(object, "perf_event");
	struct stacks *stacks = stacks_read(path);
	struct sums sums = {0};
	struct stackd_counters *counters, before;

	world_new(vm, stacks, &world);
	helpers_set(vm, &world);
	counters = vm_map(vm, "counters", 0);
	for (size_t i = 0; i < stacks->n_samples; i++) {
		const struct stacks_sample *sample = &stacks->samples[i];
		const struct vm_counts *counts;

		if (i == stacks->first_counted)
			*counters = (struct stackd_counters){0};
		before = *counters;
		helpers_next_time(&world);
		world_go_to(&world, stacks, sample);
		counts = vm_run(vm, world.context);
		check_walk(path, i, sample, &before, counters);
		if (i >= stacks->first_counted)
			sums_add(&sums, counts);
	}
	printf("%s", path);
	sums_print(&sums, counters);
	stacks_free(stacks);
	vm_free(vm);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: cost OBJECT FILE...\n");
		return 2;
	}
	print_compiler(argv[1]);
	for (int i = 2; i < argc; i++)
		count_file(argv[1], argv[i]);
	return 0;
}
