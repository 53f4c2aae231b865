/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recognises samples of idle CPUs. A CPU with nothing to do runs its idle task, and a clock samples
 * that task as well: on a machine that is half idle, half of all samples would hit the instruction
 * that waits. So samples of idle CPUs are counted, and have no records.
 *
 * Interrupts that arrive meanwhile run in the idle task, too, but their work is not idle time. The
 * stack shows which of the two was sampled: the interrupts that can be sampled (soft interrupts,
 * such as the network's and timers') run on a stack of the CPU, while the idle loop runs on the
 * stack of the idle task.
 *
 * A CPU that is to run a task that was just woken takes some microseconds until it does: it leaves
 * the idle loop, or gets the interrupt by which another CPU asks it to switch. In a virtual machine
 * that takes 15 to 20 microseconds, and more if the host is loaded. The scheduler counts this time
 * for the woken task: it has set its clock at the wake-up, and leaves the clock as it is until the
 * switch. In a program whose threads wake each other all the time, a quarter of the CPU time can be
 * such time, in which the program does not run. No sample in that time can be of the program. So
 * samples of CPUs that make way for a task in scope (one that is recorded) are counted, so that the
 * sum of samples can be compared with the scheduler's CPU time. A clock can fire late; then only
 * the periods that were due after the wake-up count (late.bpf.h).
 *
 * The events of a cgroup are off while tasks outside of the cgroup have the CPU, so no sample hits
 * that time. For a cgroup, stackd uses the kernel's count of the time for which the events were on
 * (sampler.h).
 */
#ifndef IDLE_BPF_H
#define IDLE_BPF_H

#include "cpu_clock.bpf.h"
#include "late.bpf.h"
#include "next_task.bpf.h"
#include "scratch.bpf.h"
#include "tracked_pids.bpf.h"

SETTING __u32 with_idle = 0; /* sample idle CPUs like any other */

/* Returns whether the sample has hit the idle loop. `sp` is the kernel's stack pointer at the
 * sample. */
static __always_inline bool is_idle(const struct task_struct *task, __u32 tid, __u64 sp)
{
	return !tid && !with_idle && sp - (__u64)task->stack <= ARCH_KERNEL_STACK;
}

/* Returns the woken task for which a CPU makes way; NULL: it makes way for no task. */
static __always_inline struct task_struct *woken_on(const struct rq *rq,
						    const struct task_struct *current)
{
	return rq && makes_way(rq) && rq->nr_running ? next_task(rq, current) : NULL;
}

/* Counts a sample, by this event, of a CPU that makes way for a task in scope. A global function,
 * so that the BPF verifier checks it once. */
__noinline int count_waking(__u64 event)
{
	struct task_struct *current = bpf_get_current_task_btf();
	const struct rq *rq = queue_of(current);
	struct task_struct *woken = woken_on(rq, current);
	__u32 here = 0;
	struct stackd_counters *counted = CHECKED(bpf_map_lookup_elem(&counters, &here));

	if (woken && rq && counted && passes_on(woken))
		counted->n[STACKD_COUNT_WAKING_NS] += due_since_set(rq, (const void *)event);
	return 0;
}

#endif
