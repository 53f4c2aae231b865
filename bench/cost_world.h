/* SPDX-License-Identifier: MIT */
/*
 * The process that recorded stacks are of, as the kernel half sees it: its thread and mappings in
 * the kernel, and the tables of its files.
 *
 * The kernel's structures are as short as bpf/kernel_types.h declares them. In a kernel their
 * fields are some lines further apart, which no change of the kernel half makes better or worse.
 */
#ifndef BENCH_COST_WORLD_H
#define BENCH_COST_WORLD_H

#include <asm/ptrace.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>

#include "cost_stacks.h"
#include "cost_vm.h"

#define WORLD_PERIOD	1003009 /* as the daemon asks for at 997 Hz */
#define WORLD_PID	1000u
#define WORLD_STACK_TOP UINT64_C(0x7ffd12340000)

struct world {
	struct bpf_perf_event_data *context; /* all are the machine's */
	struct perf_event *event;	     /* a clock, which is never late */
	struct task_struct *task;
	void *other_root; /* of the tree of mappings */
	uint8_t *stack;	  /* STACKS_BYTES of memory, up to WORLD_STACK_TOP */
	uint64_t time_ns;
	uint8_t *ring; /* where records go */
	uint32_t ring_at;
	/* Reads memory of the program; NULL: it is in regions of the machine. */
	bool (*read)(uint64_t address, void *to, size_t size);
};

/* Makes the process and its tables. */
void world_new(struct vm *vm, const struct stacks *stacks, struct world *ret_world);

/* Brings the thread to where a sample is. */
void world_go_to(struct world *world, const struct stacks *stacks,
		 const struct stacks_sample *sample);

#endif
