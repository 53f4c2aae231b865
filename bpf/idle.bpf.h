/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recognises samples of idle CPUs. A CPU with nothing to do runs its idle task, and a clock samples
 * that as well: on a machine that is half idle, half of all samples would be of the instruction
 * that waits. So they are counted, and have no records.
 *
 * Interrupts that arrive meanwhile run in the idle task, too, and their work is not idle. Those
 * that can be sampled (soft interrupts: the network's, timers') run on a stack of the CPU's, while
 * the idle loop runs on the task's own.
 *
 * A CPU that is to run a task that was just woken takes some microseconds until it does: it leaves
 * the idle loop, or gets the interrupt by which another CPU asks it to let go of its task. In a
 * virtual machine that takes 15 to 20, and more beside other load. The scheduler counts this time
 * as the woken task's: it has set its clock at the wake-up, and leaves the clock as it is until the
 * switch. In a program whose threads wake each other all the time, a quarter of the CPU time can be
 * of this kind, in which the program does not run. No sample of it can be of the program, so
 * samples of CPUs that make way for a task in scope are counted, for the comparison with the
 * scheduler.
 */
#ifndef IDLE_BPF_H
#define IDLE_BPF_H

#include "cpu_clock.bpf.h"
#include "members.bpf.h"
#include "scratch.bpf.h"

SETTING __u32 with_idle = 0; /* sample idle CPUs like any other */

/* Has the sample hit the idle loop? `sp` is the sample's own. */
static __always_inline bool is_idle(const struct task_struct *task, __u32 tid, __u64 sp)
{
	return !tid && !with_idle && sp - (__u64)task->stack <= ARCH_KERNEL_STACK;
}

/* Returns the task that was woken, and for which the CPU makes way; NULL: there is none. */
static __always_inline struct task_struct *woken_beside(struct task_struct *current)
{
	const struct rq *rq = queue_of(current);
	struct task_struct *woken;
	__u64 first;

	if (!rq || !bpf_core_field_exists(rq->cfs_tasks) || !makes_way(rq) || !rq->nr_running)
		return NULL;
	/* The list begins with the task that was queued or chosen last. */
	first = (__u64)rq->cfs_tasks.next;
	if (first == (__u64)rq + bpf_core_field_offset(struct rq, cfs_tasks))
		return NULL;
	woken = (struct task_struct *)(first -
				       bpf_core_field_offset(struct task_struct, se.group_node));
	return woken == current ? NULL : woken;
}

/* Counts a sample of a CPU that makes way for a task in scope. */
static __noinline int count_waking(struct task_struct *current, __u64 period)
{
	struct task_struct *woken = woken_beside(current);
	__u32 here = 0;
	struct stackd_counters *counted = CHECKED(bpf_map_lookup_elem(&counters, &here));

	if (woken && counted && passes_on(woken))
		counted->n[STACKD_COUNT_WAKING_NS] += period;
	return 0;
}

#endif
