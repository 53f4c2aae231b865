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

#include "cost_vm_state.h"
#include "cost_world.h"
#include "kernel_types.h"

#define RING_BYTES (1u << 20)

static struct world world;
static uint64_t time_ns;
static uint8_t *ring;
static uint32_t ring_at;

/* --- helpers -------------------------------------------------------------------------------- */

static uint64_t read_user(struct vm *vm, const uint64_t *a)
{
	void *to = vm_touch(vm, a[0], (uint32_t)a[1]);
	const void *from = vm_touch_if(vm, a[2], (uint32_t)a[1]);

	memset(to, 0, (uint32_t)a[1]);
	if (!from)
		return (uint64_t)-14;
	memcpy(to, from, (uint32_t)a[1]);
	vm_copied(vm, (uint32_t)a[1]);
	return 0;
}

static uint64_t read_kernel(struct vm *vm, const uint64_t *a)
{
	const uint64_t event = (uintptr_t)world.event;
	void *to = vm_touch(vm, a[0], (uint32_t)a[1]);
	const void *from = vm_touch_if(vm, a[2], (uint32_t)a[1]);

	memset(to, 0, (uint32_t)a[1]);
	/* What the kernel gives the program is another structure than it seems to. */
	if (a[2] == (uintptr_t)world.context + offsetof(struct bpf_perf_event_data_kern, event))
		from = &event;
	if (from)
		memcpy(to, from, (uint32_t)a[1]);
	return from ? 0 : (uint64_t)-14;
}

/* The record, behind its header. */
static uint64_t put_record(struct vm *vm, const uint64_t *a)
{
	uint32_t size = ((uint32_t)a[2] + 8 + 7) & ~7u;

	if (ring_at + size > RING_BYTES)
		ring_at = 0;
	vm_touch(vm, a[1], (uint32_t)a[2]);
	vm_touch(vm, (uintptr_t)ring + ring_at, size);
	ring_at += size;
	return 0;
}

#define ANSWERS(name, answer)                                                                      \
	static uint64_t name(struct vm *vm, const uint64_t *a)                                     \
	{                                                                                          \
		(void)vm, (void)a;                                                                 \
		return answer;                                                                     \
	}

ANSWERS(now, time_ns)
ANSWERS(task, (uintptr_t)world.task)
ANSWERS(pid_tgid, (uint64_t)WORLD_PID << 32 | WORLD_PID)
ANSWERS(zero, 0)
ANSWERS(one, 1)

static void set_helpers(struct vm *vm)
{
	vm_set_helper(vm, BPF_FUNC_probe_read_user, read_user);
	vm_set_helper(vm, BPF_FUNC_probe_read_kernel, read_kernel);
	vm_set_helper(vm, BPF_FUNC_ringbuf_output, put_record);
	vm_set_helper(vm, BPF_FUNC_ringbuf_query, zero);
	vm_set_helper(vm, BPF_FUNC_ktime_get_ns, now);
	vm_set_helper(vm, BPF_FUNC_get_current_task_btf, task);
	vm_set_helper(vm, BPF_FUNC_get_current_pid_tgid, pid_tgid);
	vm_set_helper(vm, BPF_FUNC_get_smp_processor_id, zero);
	vm_set_helper(vm, BPF_FUNC_get_current_cgroup_id, one);
}

/* --- a recording ---------------------------------------------------------------------------- */

struct sums {
	struct vm_counts counts;
	struct stackd_counters walks;
	uint64_t samples;
};

static void add_sample(struct sums *sums, const struct vm_counts *c)
{
	struct vm_counts *to = &sums->counts;

	sums->samples++;
	to->instructions += c->instructions;
	to->subprograms += c->subprograms;
	to->bodies += c->bodies;
	to->helpers += c->helpers;
	to->lookups += c->lookups;
	to->copies += c->copies;
	to->user_bytes += c->user_bytes;
	for (int i = 0; i < VM_KINDS_COUNT; i++) {
		to->lines[i] += c->lines[i];
		to->pages[i] += c->pages[i];
	}
}

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

static void print_sums(const char *path, const struct sums *sums)
{
	static const char *const kinds[] = {
#define X(e, name) name,
		VM_KINDS(X)
#undef X
	};
	const struct vm_counts *c = &sums->counts;
	const __u64 *n = sums->walks.n;

#define PRINT(name, number) printf(" %s=%llu", name, (unsigned long long)(number))
	printf("%s", path);
	PRINT("samples", sums->samples);
	PRINT("frames", n[STACKD_COUNT_FRAMES] + n[STACKD_COUNT_KEPT]);
	PRINT("new", n[STACKD_COUNT_FRAMES]);
	PRINT("misses", n[STACKD_COUNT_RULE_MISSES]);
	PRINT("mappings", n[STACKD_COUNT_MAPPING_LOOKUPS]);
	PRINT("instructions", c->instructions);
	PRINT("subprograms", c->subprograms);
	PRINT("bodies", c->bodies);
	PRINT("helpers", c->helpers);
	PRINT("lookups", c->lookups);
	PRINT("copies", c->copies);
	PRINT("user_bytes", c->user_bytes);
	for (int i = 0; i < VM_KINDS_COUNT; i++) {
		printf(" lines_%s=%llu", kinds[i], (unsigned long long)c->lines[i]);
		printf(" pages_%s=%llu", kinds[i], (unsigned long long)c->pages[i]);
	}
	putchar('\n');
#undef PRINT
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
	set_helpers(vm);
	counters = vm_map(vm, "counters", 0);
	ring = vm_share(vm, VM_RING, 0, RING_BYTES);
	ring_at = 0;
	for (size_t i = 0; i < stacks->n_samples; i++) {
		const struct stacks_sample *sample = &stacks->samples[i];
		const struct vm_counts *counts;

		if (i == stacks->first_counted)
			*counters = (struct stackd_counters){0};
		before = *counters;
		time_ns += WORLD_PERIOD;
		world.event->hw.hrtimer._softexpires = (int64_t)time_ns;
		world_go_to(&world, stacks, sample);
		counts = vm_run(vm, world.context);
		check_walk(path, i, sample, &before, counters);
		if (i >= stacks->first_counted)
			add_sample(&sums, counts);
	}
	sums.walks = *counters;
	print_sums(path, &sums);
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
