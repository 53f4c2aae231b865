/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPU time of a thread, as the scheduler itself computes it.
 *
 * The scheduler has the sum of each thread's CPU time up to its last update, and for each CPU a
 * clock (rq->clock) that it sets at its updates. A BPF program cannot read the present value of
 * that clock, but only CLOCK_MONOTONIC. The difference of the two clocks changes slowly. A constant
 * difference does not matter, since only differences of two CPU times are used. It is needed where
 * the scheduler will not count all the time that has passed since it set its clock. So the daemon
 * compares the clocks each second (daemon/capture/sampler_clocks.h).
 */
#ifndef CPU_CLOCK_BPF_H
#define CPU_CLOCK_BPF_H

#include "scratch.bpf.h"

#define REREAD()  asm volatile("" : : : "memory")
#define SKIP_NEXT 1 /* a bit of rq.clock_update_flags: the next switch does not set the clock */

/* Distance in bytes from a CPU's struct rq to the host's report of stolen time; 0: there is no
 * report. */
SETTING __s64 steal_distance = 0;

/* The result of the daemon's last two comparisons: CLOCK_MONOTONIC less the scheduler's clock, the
 * time at which that was measured, and its change in 2^-32 ns for each ns. clock_ties is the number
 * of comparisons; modulo two, it is the index of the last one. */
__u32 clock_ties = 0;
__s64 clock_tie_apart[2] = {0};
__u64 clock_tie_ns[2] = {0};
__s64 clock_tie_drift[2] = {0};

__s64 clock_seen_apart = 0; /* the same difference, as stackd_tie_clocks() saw it; 0: this kernel
			     * does not show its clock */

static __always_inline struct rq *queue_of(struct task_struct *task)
{
	struct cfs_rq *queue = NULL;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(queue->rq))
		return NULL;
	queue = task->se.cfs_rq;
	return queue ? queue->rq : NULL;
}

/* The daemon runs this right after it has made the scheduler set the clock of the daemon's CPU. */
SEC("syscall")
int stackd_tie_clocks(void *ctx)
{
	const struct rq *rq = queue_of(bpf_get_current_task_btf());

	(void)ctx;
	clock_seen_apart = rq && rq->clock ? bpf_ktime_get_ns() - rq->clock : 0;
	return 0;
}

/* Returns how long ago the scheduler set a CPU's clock, in ns; the largest number: not known. */
static __always_inline __u64 since_set(const struct rq *rq, __u64 now)
{
	const __u32 i = clock_ties & 1;
	const __s64 apart =
		clock_tie_apart[i] + ((__s64)(now - clock_tie_ns[i]) * clock_tie_drift[i] >> 32);
	const __s64 since = now - rq->clock - apart;

	if (!clock_ties)
		return ~0ull;
	return since > 0 ? since : 0;
}

/* Returns the time in ns that the host has taken from this CPU since the scheduler's clock was last
 * set (while a thread runs, at most a tick ago). Only hosts of KVM are supported. */
static __always_inline __u64 stolen_since(const struct rq *rq)
{
	const struct kvm_steal_time *host = (const void *)((__u64)rq + steal_distance);
	__u64 stolen = 0;

	if (!steal_distance || !bpf_core_field_exists(rq->prev_steal_time_rq))
		return 0;
	if (bpf_probe_read_kernel(&stolen, sizeof(stolen), &host->steal))
		return 0;
	return stolen - rq->prev_steal_time_rq;
}

/* Returns whether the running thread is to make way for a thread that was woken. Then the clock
 * stays as it was set at the wake-up until the switch, and the time that the running thread still
 * takes counts as the woken thread's. */
static __always_inline bool makes_way(const struct rq *rq)
{
	return bpf_core_field_exists(rq->clock_update_flags) && rq->clock_update_flags & SKIP_NEXT;
}

/*
 * Returns how much of the time since the clock was set the scheduler will not count as the
 * thread's. The host can have taken more time than has passed since then: another CPU may set this
 * CPU's clock while the host has this CPU, and the host reports only afterwards for how long. The
 * scheduler subtracts no more than the time that has passed.
 */
static __always_inline __u64 not_counted(const struct rq *rq, __u64 now, __u64 stolen)
{
	const __u64 since = since_set(rq, now);

	if (makes_way(rq) && ~since)
		return since;
	return stolen < since ? stolen : since;
}

/* Returns how far rq->clock_task, by which CPU time is counted, is behind rq->clock: by the time in
 * interrupts and, in a virtual machine, by stolen time. */
static __always_inline __u64 clock_behind(const struct rq *rq)
{
	return rq ? rq->clock - rq->clock_task : 0;
}

/* Reads the thread's CPU time. Returns false if meanwhile an interrupt has added to the sum, or the
 * host has taken time, so that *ret_ns mixes two moments. */
static __always_inline bool read_clock(struct task_struct *task, const struct rq *rq, __u64 *ret_ns)
{
	__u64 start = task->se.exec_start, behind = clock_behind(rq), sum, now;
	__u64 stolen = rq ? stolen_since(rq) : 0;

	REREAD();
	sum = task->se.sum_exec_runtime;
	now = bpf_ktime_get_ns();
	REREAD();
	*ret_ns = sum + now - start - behind - (rq ? not_counted(rq, now, stolen) : 0);
	return task->se.exec_start == start && clock_behind(rq) == behind &&
	       (!rq || stolen_since(rq) == stolen);
}

/*
 * Returns the thread's CPU time plus a constant: its sum at the scheduler's last update, and the
 * time since. A CPU's clock_task leaves out the time in interrupts, so its distance from the CPU's
 * clock differs from CPU to CPU. The difference of two results is as exact as the scheduler's if
 * the thread has stayed on its CPU; over a wait, the two clocks can drift apart, by some millionths
 * of its length.
 */
static __noinline __u64 cpu_clock(struct task_struct *task)
{
	const struct rq *rq = queue_of(task);
	__u64 ns;

	/* This is a function, so that its stack is not part of the programs' stacks, which have
	 * little room left. There is no loop, because clang would make the first instruction a jump
	 * target, which Linux 6.1 refuses. */
	if (!read_clock(task, rq, &ns) && !read_clock(task, rq, &ns))
		read_clock(task, rq, &ns);
	return ns;
}

#endif
