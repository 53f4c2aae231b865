/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clock that measures waits, and the part of a wait in which its thread was runnable.
 *
 * The scheduler has read its clock just before each switch, and keeps for each thread how long the
 * thread was in CPUs' queues (/proc/PID/schedstat). So no program reads a clock at a switch, which
 * would cost a third of all work there. Wake-ups, which are as frequent as switches, need no
 * program. And runnable times are the scheduler's own, to the nanosecond.
 *
 * The scheduler's clock cannot be read elsewhere. There, CLOCK_MONOTONIC less the distance of the
 * two clocks takes its place; the distance is that at the last wait that was kept. A host can take
 * the CPU between the two readings. So if a distance exceeds the last one by more than the clocks
 * can have drifted apart, it is ignored.
 */
#ifndef WAIT_CLOCK_BPF_H
#define WAIT_CLOCK_BPF_H

#include "wait_thread.bpf.h"

#define MOST_DRIFT 10 /* as a shift: a thousandth of the time */

__u64 wait_clock_behind_ns = 0;
__u64 wait_clock_noted_ns = 0; /* when the distance was noted; 0: never, and the clock is not
				* known */

/* Returns the clock of the queue that a thread is in, as of the clock's last update: right now at a
 * switch. Each CPU has a queue; their clocks differ by nanoseconds. 0: the kernel does not show
 * it. */
static __always_inline __u64 queue_clock(struct task_struct *task)
{
	struct cfs_rq *queue = NULL;
	struct rq *rq;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(queue->rq))
		return 0;
	queue = task->se.cfs_rq;
	rq = queue ? queue->rq : NULL;
	return rq ? rq->clock : 0;
}

/* Notes the distance of both clocks, which were read at one moment, the scheduler's first. */
static __always_inline void note_clock(__u64 now, __u64 clock)
{
	__s64 further = now - clock - wait_clock_behind_ns;

	if (wait_clock_noted_ns && further > (__s64)((now - wait_clock_noted_ns) >> MOST_DRIFT))
		return;
	wait_clock_behind_ns = now - clock;
	wait_clock_noted_ns = now;
}

static __always_inline __u64 wait_clock_of(__u64 monotonic_ns)
{
	return monotonic_ns - wait_clock_behind_ns;
}

static __always_inline __u64 monotonic_of(__u64 wait_clock_ns)
{
	return wait_clock_ns + wait_clock_behind_ns;
}

static __always_inline __u64 wait_clock_now(void)
{
	return wait_clock_of(bpf_ktime_get_ns());
}

/* Two CPUs' clocks, or a distance that was noted, can be some nanoseconds apart: so not below 0. */
static __always_inline __u64 time_between(__u64 start, __u64 end)
{
	return (__s64)(end - start) > 0 ? end - start : 0;
}

static __always_inline bool has_queued_ns(void)
{
	struct task_struct *task = NULL;

	return bpf_core_field_exists(task->sched_info.run_delay) &&
	       bpf_core_field_exists(task->sched_info.last_queued) &&
	       bpf_core_field_exists(task->sched_info.last_arrival);
}

/* Returns when a running thread got its CPU. */
static __always_inline __u64 arrived_ns(struct task_struct *task, __u64 now)
{
	return has_queued_ns() ? task->sched_info.last_arrival : now;
}

/* Returns how long a thread has been in queues, up to when it last left one. */
static __always_inline __u64 queued_ns(struct task_struct *task)
{
	return has_queued_ns() ? task->sched_info.run_delay : 0;
}

/* Returns how long a thread, which may be in a queue, has been in queues until now. */
static __always_inline __u64 queued_until(struct task_struct *task, __u64 now)
{
	__u64 since = has_queued_ns() ? task->sched_info.last_queued : 0;

	return queued_ns(task) + (since ? time_between(since, now) : 0);
}

/* Returns how long of a wait its thread was in queues; `queued` is the sum of its times in queues.
 * A thread that was preempted, or woken before it had left the CPU, was in a queue all the time. */
static __always_inline __u64 runnable_part(const struct wait_thread *thread, __u32 state, __u64 all,
					   __u64 queued)
{
	__u64 ns = queued - thread->queued_ns;

	return state == WAIT_BLOCKED && ns < all ? ns : all;
}

#endif
