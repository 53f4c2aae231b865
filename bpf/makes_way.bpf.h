/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts the time in which a task still runs and the scheduler counts another one's.
 *
 * A CPU that wakes a task on another CPU sets that CPU's clock, and asks it by an interrupt to
 * switch. Until the switch the clock stays as it is (`rq_clock_skip_update()`), so the scheduler
 * counts the time from the wake-up on as the woken task's, although the other one still runs. In a
 * virtual machine it is 15 to 40 us for each wake-up, and as long as an interrupt takes that the
 * CPU is in: that of an expensive sample, for example. A program whose CPU gets 10,000 wake-ups a
 * second has a third more samples than CPU time by the scheduler.
 *
 * The samples are right, so they stay as they are. Those that hit a task in such a state are added
 * up, for the comparison with the scheduler. No sample can hit the time of the sample's own
 * interrupt. That is added to the sum where it is long: where the stack is copied.
 */
#ifndef MAKES_WAY_BPF_H
#define MAKES_WAY_BPF_H

#include "idle.bpf.h"
#include "late.bpf.h"
#include "scratch.bpf.h"

/* Adds to the time that the scheduler counts as a woken task's, if the current task is to make way
 * for one. If that is in scope, too, their sum is right. */
static __noinline int count_preempted(struct task_struct *task, __u64 ns)
{
	const struct rq *rq = queue_of(task);
	struct task_struct *woken = woken_beside(task);
	__u32 here = 0;
	struct stackd_counters *counted = CHECKED(bpf_map_lookup_elem(&counters, &here));

	if (is_everyone)
		return 0;
	if (rq && counted && makes_way(rq) && !(woken && passes_on(woken)))
		counted->n[STACKD_COUNT_PREEMPTED_NS] += ns;
	return 0;
}

/* Returns whether the current task may have to make way: it is to switch, or has a flag that has
 * the same number in another kernel. */
static __always_inline bool may_make_way(const struct task_struct *task)
{
	return is_clock && task->thread_info.flags & ARCH_MAY_RESCHEDULE;
}

/* Counts a sample's period, when it begins. */
static __always_inline void note_preempted(const struct scratch *s, struct task_struct *task)
{
	if (RARELY(may_make_way(task)))
		count_preempted(task, s->record.period);
}

/* Counts the time that a sample has taken, when it ends. A task that was woken meanwhile can have
 * been woken at any moment of it. */
static __always_inline void note_preempted_by_sample(const struct scratch *s,
						     struct task_struct *task)
{
	if (may_make_way(task))
		count_preempted(task, bpf_ktime_get_ns() - s->record.header.time_ns);
}

#endif
