/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts the time in which a task still runs, but which the scheduler counts as another task's.
 *
 * A CPU that wakes a task on another CPU sets the other CPU's clock, and asks that CPU by an
 * interrupt to switch to the task. Until the switch the clock stays as it is
 * (`rq_clock_skip_update()`), so the scheduler counts the time from the wake-up on for the woken
 * task, although the other task still runs. In a virtual machine this takes 15 to 40 us for each
 * wake-up. If the other CPU is in an interrupt, such as an expensive sample, it also has to end
 * that interrupt first. A program whose CPU gets 10,000 wake-ups a second has samples for a third
 * more time than the scheduler counts.
 *
 * The samples are right, so they stay as they are. The periods of the samples that hit a task in
 * such a time, as far as they were due since the wake-up, are added up, so that the sum of samples
 * can be compared with the scheduler's CPU time. No sample can hit the interrupt of a sample, so if
 * that interrupt takes long, because it copies the stack, its time is added to the sum.
 */
#ifndef PREEMPTED_BPF_H
#define PREEMPTED_BPF_H

#include "cgroup.bpf.h"
#include "idle.bpf.h"
#include "late.bpf.h"
#include "scratch.bpf.h"

/* Returns whether the task is in scope: in the recorded cgroup, or one of the recorded tasks. */
static __always_inline bool is_in_scope(struct task_struct *task)
{
	return cgroup_id ? is_in_cgroup(task) : passes_on(task);
}

/* If the current task is to make way for a woken task, the scheduler counts its time as the woken
 * task's from the wake-up on. Counts the periods that were due in that time; the parameters are
 * those of due_within(). Counts nothing if the woken task is in scope as well, since the sum over
 * both tasks is right then. A global function, so that the BPF verifier checks it once. */
__noinline int count_preempted(__u64 last, __u64 every, __u64 most)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct rq *rq = queue_of(task);
	struct task_struct *woken = woken_on(rq, task);
	__u32 here = 0;
	struct stackd_counters *counted = CHECKED(bpf_map_lookup_elem(&counters, &here));

	if (is_everyone)
		return 0;
	if (rq && counted && makes_way(rq) && !(woken && is_in_scope(woken)))
		counted->n[STACKD_COUNT_PREEMPTED_NS] +=
			due_within(since_set(rq, bpf_ktime_get_ns()), last, every, most);
	return 0;
}

/* Returns whether the current task may have to make way for a woken one; true also if another
 * kernel uses the same flag for something else. */
static __always_inline bool may_make_way(const struct task_struct *task)
{
	return is_clock && task->thread_info.flags & ARCH_MAY_RESCHEDULE;
}

/* When a sample begins: counts its periods, of `every` ns. s->due is when the clock is due next. */
static __always_inline void note_preempted(const struct scratch *s, struct task_struct *task,
					   __u64 every)
{
	if (RARELY(may_make_way(task)))
		count_preempted((__u32)((__u32)s->record.header.time_ns + (__u32)every - s->due),
				every, s->record.period);
}

/* When a sample ends: counts the time that it has taken. */
static __always_inline void note_preempted_by_sample(const struct scratch *s,
						     struct task_struct *task)
{
	if (may_make_way(task))
		count_preempted(0, 1, bpf_ktime_get_ns() - s->record.header.time_ns);
}

#endif
