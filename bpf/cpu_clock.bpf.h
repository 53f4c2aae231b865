/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPU time of a thread, as the scheduler itself would tell it.
 *
 * The scheduler has a thread's sum up to its last look at it, and a clock of each CPU, as of when
 * that was last set. A program cannot read the clock, but only CLOCK_MONOTONIC, which is apart from
 * it by more and more. While the two are at one distance that does not matter: what counts is the
 * difference of two readings. How far apart they are is needed where the scheduler will not count
 * all that has passed since it set its clock; the daemon compares them each second
 * (daemon/capture/sampler_clocks.h).
 */
#ifndef CPU_CLOCK_BPF_H
#define CPU_CLOCK_BPF_H

#include "scratch.bpf.h"

#define REREAD()  asm volatile("" : : : "memory")
#define SKIP_NEXT 1 /* rq.clock_update_flags: at the next switch the clock is not set */

/* From a CPU's struct rq to what its host says of it, in bytes; 0: nothing is known. */
SETTING __s64 steal_distance = 0;

/* CLOCK_MONOTONIC less the scheduler's clock at a time, and how that changes by the nanosecond, in
 * 2^-32; the last comparison is the one of this number, modulo two. 0: there was none. */
__u32 clock_ties = 0;
__s64 clock_tie_apart[2] = {0};
__u64 clock_tie_ns[2] = {0};
__s64 clock_tie_drift[2] = {0};

__s64 clock_seen_apart = 0; /* 0: this kernel does not tell */

static __always_inline struct rq *queue_of(struct task_struct *task)
{
	struct cfs_rq *queue = NULL;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(queue->rq))
		return NULL;
	queue = task->se.cfs_rq;
	return queue ? queue->rq : NULL;
}

/* Run by the daemon right after it has had the scheduler set the clock of its CPU. */
SEC("syscall")
int stackd_tie_clocks(void *ctx)
{
	const struct rq *rq = queue_of(bpf_get_current_task_btf());

	(void)ctx;
	clock_seen_apart = rq && rq->clock ? bpf_ktime_get_ns() - rq->clock : 0;
	return 0;
}

/* Returns how long ago a CPU's clock was set; the largest number: not known. */
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

/* What the host has taken of this CPU since the scheduler's clock was last set, which is at most a
 * tick ago while a thread runs. Of other hypervisors than KVM it is not known here. */
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

/* Whether the thread is to make way for one that was woken. Then the clock stays as it was set at
 * the wake-up until the switch, and what the thread runs meanwhile counts as the other one's. */
static __always_inline bool makes_way(const struct rq *rq)
{
	return bpf_core_field_exists(rq->clock_update_flags) && rq->clock_update_flags & SKIP_NEXT;
}

/*
 * Returns what of the time since the clock was set will not count as the thread's. That which the
 * host has taken can be more than has passed: the clock may be set by another CPU while the host
 * has this one, and the host says only afterwards how long it had it. The scheduler takes off no
 * more than the time that has passed.
 */
static __always_inline __u64 not_counted(const struct rq *rq, __u64 now, __u64 stolen)
{
	const __u64 since = since_set(rq, now);

	if (makes_way(rq) && ~since)
		return since;
	return stolen < since ? stolen : since;
}

/* How far the clock that CPU time is summed up by is behind the CPU's clock: by its time in
 * interrupts and, in a virtual machine, that given to others. */
static __always_inline __u64 clock_behind(const struct rq *rq)
{
	return rq ? rq->clock - rq->clock_task : 0;
}

/* Returns whether no interrupt has summed up meanwhile, and the host has taken nothing: else the
 * reading is of two moments. */
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
 * The thread's CPU time, but for a constant: its sum at the scheduler's last look, and what has
 * passed since. A CPU's clock_task leaves out the time in interrupts, so it is behind the CPU's
 * clock by another amount on each CPU. The result is as exact as the scheduler's own for an
 * instance that keeps the CPU; over a wait the two clocks can drift apart, by some millionths of
 * it.
 */
static __noinline __u64 cpu_clock(struct task_struct *task)
{
	const struct rq *rq = queue_of(task);
	__u64 ns;

	/* A function, so that its stack is not that of the programs, which have little left. No
	 * loop: clang would have it fall through into its first instruction, which Linux 6.1
	 * refuses. */
	if (!read_clock(task, rq, &ns) && !read_clock(task, rq, &ns))
		read_clock(task, rq, &ns);
	return ns;
}

#endif
