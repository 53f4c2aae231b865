/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clock that measures waits, and the part of a wait in which its thread was runnable.
 *
 * The scheduler reads its clock just before each switch, and keeps for each thread how long the
 * thread was in CPUs' queues (/proc/PID/schedstat). These programs use both. So no program reads a
 * clock at a switch, which would cost a third of all work there. Wake-ups, which are as frequent as
 * switches, need no program. And runnable times are the scheduler's own, to the nanosecond.
 *
 * Elsewhere the present value of the scheduler's clock cannot be read. There, CLOCK_MONOTONIC less
 * the distance of the two clocks is used; the distance is that at the last recorded wait. A virtual
 * machine's host can take the CPU between the reading of the two clocks. So if a distance exceeds
 * the last one by more than the clocks can have drifted apart, it is ignored.
 */
#ifndef WAIT_CLOCK_BPF_H
#define WAIT_CLOCK_BPF_H

#include "wait_thread.bpf.h"

#define MOST_DRIFT 10 /* as a shift: a thousandth of the time */

__u64 wait_clock_behind_ns = 0;
__u64 wait_clock_noted_ns = 0; /* time at which the distance was noted; 0: never, so the clock is
				* not known */

/* Returns the clock of the CPU's queue that a thread is in, as of its last update, which at a
 * switch is the present time. The clocks of different CPUs differ by nanoseconds. 0: the kernel
 * does not show it. */
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

/* Notes the distance of both clocks, which were read at the same moment, the scheduler's first. */
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

/* Returns end - start; 0 if that is negative, since two CPUs' clocks, or a distance that was noted,
 * can differ by some nanoseconds. */
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

/* Returns the time at which a running thread got its CPU; `now` if the kernel does not show it. */
static __always_inline __u64 arrived_ns(struct task_struct *task, __u64 now)
{
	return has_queued_ns() ? task->sched_info.last_arrival : now;
}

/* Returns how long a thread has been in queues in all, up to when it last left one. */
static __always_inline __u64 queued_ns(struct task_struct *task)
{
	return has_queued_ns() ? task->sched_info.run_delay : 0;
}

/* Returns how long a thread, which may be in a queue at present, has been in queues in all until
 * now. */
static __always_inline __u64 queued_until(struct task_struct *task, __u64 now)
{
	__u64 since = has_queued_ns() ? task->sched_info.last_queued : 0;

	return queued_ns(task) + (since ? time_between(since, now) : 0);
}

/* Returns for how much of a wait its thread was in queues; `queued` is the sum of the thread's
 * times in queues. A thread that was preempted, or woken before it had left the CPU, was in a queue
 * all the time. */
static __always_inline __u64 runnable_part(const struct wait_thread *thread, __u32 state, __u64 all,
					   __u64 queued)
{
	__u64 ns = queued - thread->queued_ns;

	return state == WAIT_BLOCKED && ns < all ? ns : all;
}

#endif
