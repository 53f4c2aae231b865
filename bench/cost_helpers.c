/* SPDX-License-Identifier: MIT */
#include "cost_helpers.h"
#include "cost_vm_state.h"

#include <linux/types.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifndef __clang__
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif
#include "kernel_types.h"

#define RING_BYTES (1u << 20)

static uint64_t read_user(struct vm *vm, const uint64_t *a)
{
	struct world *world = vm->owner;
	uint32_t size = (uint32_t)a[1];
	void *to = vm_touch(vm, a[0], size);
	const void *from = world->read ? NULL : vm_touch_if(vm, a[2], size);

	memset(to, 0, size);
	if (world->read ? !world->read(a[2], to, size) : !from)
		return (uint64_t)-14;
	if (world->read)
		vm_touch_user(vm, a[2], size);
	else
		memcpy(to, from, size);
	vm_copied(vm, size);
	return 0;
}

static uint64_t read_kernel(struct vm *vm, const uint64_t *a)
{
	const struct world *world = vm->owner;
	const uint64_t event = (uintptr_t)world->event;
	void *to = vm_touch(vm, a[0], (uint32_t)a[1]);
	const void *from = vm_touch_if(vm, a[2], (uint32_t)a[1]);

	memset(to, 0, (uint32_t)a[1]);
	/* What the kernel gives the program is another structure than it seems to. */
	if (a[2] == (uintptr_t)world->context + offsetof(struct bpf_perf_event_data_kern, event))
		from = &event;
	if (from)
		memcpy(to, from, (uint32_t)a[1]);
	return from ? 0 : (uint64_t)-14;
}

/* The record, behind its header. */
static uint64_t put_record(struct vm *vm, const uint64_t *a)
{
	struct world *world = vm->owner;
	uint32_t size = ((uint32_t)a[2] + 8 + 7) & ~7u;

	if (world->ring_at + size > RING_BYTES)
		world->ring_at = 0;
	vm_touch(vm, a[1], (uint32_t)a[2]);
	vm_touch(vm, (uintptr_t)world->ring + world->ring_at, size);
	world->ring_at += size;
	return 0;
}

#define ANSWERS(name, answer)                                                                      \
	static uint64_t name(struct vm *vm, const uint64_t *a)                                     \
	{                                                                                          \
		const struct world *world = vm->owner;                                             \
                                                                                                   \
		(void)world, (void)a;                                                              \
		return answer;                                                                     \
	}

ANSWERS(now, world->time_ns)
ANSWERS(task, (uintptr_t)world->task)
ANSWERS(pid_tgid, (uint64_t)WORLD_PID << 32 | WORLD_PID)
ANSWERS(zero, 0)
ANSWERS(one, 1)

void helpers_set(struct vm *vm, struct world *world)
{
	vm->owner = world;
	world->ring = vm_share(vm, VM_RING, 0, RING_BYTES);
	world->ring_at = 0;
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

void helpers_next_time(struct world *world)
{
	world->time_ns += WORLD_PERIOD;
	world->event->hw.hrtimer._softexpires = (int64_t)world->time_ns;
}

/* --- sums ----------------------------------------------------------------------------------- */

void sums_add(struct sums *sums, const struct vm_counts *c)
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

void sums_print(const struct sums *sums, const struct stackd_counters *walks)
{
	static const char *const kinds[] = {
#define X(e, name) name,
		VM_KINDS(X)
#undef X
	};
	const struct vm_counts *c = &sums->counts;
	const __u64 *n = walks->n;

#define PRINT(name, number) printf(" %s=%llu", name, (unsigned long long)(number))
	PRINT("samples", sums->samples);
	PRINT("frames", n[STACKD_COUNT_FRAMES] + n[STACKD_COUNT_KEPT]);
	PRINT("new", n[STACKD_COUNT_FRAMES]);
	PRINT("misses", n[STACKD_COUNT_RULE_MISSES]);
	PRINT("mappings", n[STACKD_COUNT_MAPPING_LOOKUPS]);
	PRINT("managed", n[STACKD_COUNT_MANAGED_FRAMES]);
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
