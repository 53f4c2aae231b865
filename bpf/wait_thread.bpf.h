/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is kept for a thread's waits, and which waits are sampled.
 *
 * A wait is the time from when a thread leaves the CPU to when it gets one again. The thread is
 * blocked until it is woken, then runnable; a preempted thread is runnable at once. Waits are
 * sampled by duration: points are drawn on each thread's waiting time, at exponentially distributed
 * distances with the mean T, and a part of a wait (the blocked or the runnable part) is recorded if
 * a point is in it. So a part of length d is recorded with the probability p = 1 - exp(-d / T),
 * whatever else the thread does, and represents the time d / p. A part without a point costs one
 * subtraction.
 *
 * Exponential distances have no memory. So the next distance may be drawn from the end of a
 * recorded part on, and at any time when T changes.
 */
#ifndef WAIT_THREAD_BPF_H
#define WAIT_THREAD_BPF_H

#include "exponential.bpf.h"
#include "scratch.bpf.h"

enum wait_state {
	WAIT_NONE, /* the thread's waits are not recorded (any more) */
	WAIT_RUNNING,
	WAIT_RUNNABLE,
	WAIT_BLOCKED,
	WAIT_BEGINS, /* begin_waits() is determining which of these states it is */
};

/* A bit of wait_thread.waker: the wake-up came before the thread's switch was traced. */
#define WAKER_AHEAD 4

struct wait_thread {
	__u64 since_ns;	  /* start of this state, by the scheduler's clock (wait_clock.bpf.h) */
	__u64 queued_ns;  /* time that the thread was in CPUs' queues until since_ns, by the
			   * scheduler's sum */
	__u64 ran_ns;	  /* time that it was on CPUs until it got this one, by the scheduler's
			   * sum */
	__s64 left_ns;	  /* waiting time up to the next sampling point */
	__u64 mean_ns;	  /* the mean with which left_ns was drawn */
	__u32 state;	  /* enum wait_state */
	__u32 task_state; /* the scheduler's state of a blocked thread */
	__u64 drawn_ns;	  /* the length of the blocked part for which the wake-up has decided
			   * whether it is recorded; 0: none */
	__u32 is_drawn;	  /* that decision: it is recorded */
	__u32 waker;	  /* enum stackd_waker, and WAKER_AHEAD */
	__u64 file;	  /* of a blocked thread: the struct file of its descriptor when it left
			   * the CPU; 0: none */
	__u32 holder;	  /* the thread that held its mutex, by the id that the mutex has; 0: not
			   * known */
	__u32 polled;	  /* the descriptor that it polls, if that is a single one */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait_thread);
} wait_threads SEC(".maps");

struct wait_counts {
	__u64 n[STACKD_WAIT_COUNT]; /* by enum stackd_wait_counter */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wait_counts);
} wait_counters SEC(".maps");

static __always_inline struct wait_counts *wait_counts_here(void)
{
	__u32 here = 0;

	return CHECKED(bpf_map_lookup_elem(&wait_counters, &here));
}

static __always_inline void count_wait(__u32 counter, __u64 by)
{
	struct wait_counts *counted = wait_counts_here();

	if (counted)
		__sync_fetch_and_add(&counted->n[counter], by);
}

/* Counts a record of a wait or of a wake-up. */
static __always_inline void count_wait_record(enum stackd_event event, bool is_lost)
{
	if (event == STACKD_EVENT_WAKE)
		count_wait(is_lost ? STACKD_WAIT_WAKERS_LOST : STACKD_WAIT_WAKERS_SENT, 1);
	else
		count_wait(is_lost ? STACKD_WAIT_LOST_RING : STACKD_WAIT_SENT, 1);
}

/* --- the sampled wait of a CPU --------------------------------------------------------------- */

/* A sampled wait that has ended, or a thread that has ended such a wait. The interrupt that was
 * raised walks the user stack of that thread. */
struct ended_wait {
	__u32 tid; /* 0: the entry is empty */
	__u32 pid;
	__u64 pc;	/* of user mode */
	__u64 ended_ns; /* end of a wait: CLOCK_MONOTONIC */
	union stackd_measurement event;
	__u32 n_kernel;
	__u32 is_outside; /* it is a waker whose user path is not wanted */
	__u64 kernel[STACKD_MAX_KERNEL_FRAMES + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3); /* by enum wait_record */
	__type(key, __u32);
	__type(value, struct ended_wait);
} ended_waits SEC(".maps");

enum wait_record {
	RECORD_OF_WAIT,
	RECORD_OF_WAKER,
	RECORD_WITHOUT_PATH, /* of a second waker, whose user path cannot be taken */
};

/* Returns the index at which a CPU keeps an event of this kind until its path is walked. */
static __always_inline enum wait_record wait_record_of(enum stackd_event event)
{
	return event == STACKD_EVENT_WAKE ? RECORD_OF_WAKER : RECORD_OF_WAIT;
}

static __always_inline struct ended_wait *ended_here(enum wait_record record)
{
	__u32 here = record;

	return CHECKED(bpf_map_lookup_elem(&ended_waits, &here));
}

static __always_inline struct ended_wait *ended_wait_here(void)
{
	return ended_here(RECORD_OF_WAIT);
}

/* Copies the kernel frames of this CPU's wait or waker, and returns their number. */
static __always_inline __u32 wait_frames(void *to, enum wait_record record)
{
	struct ended_wait *ended = ended_here(record);
	__u32 n = ended ? ended->n_kernel : 0;

	FORGET(n);
	if (!n || n > STACKD_MAX_KERNEL_FRAMES || bpf_probe_read_kernel(to, n * 8, ended->kernel))
		return 0;
	return n;
}

/* --- sampling -------------------------------------------------------------------------------- */

__u64 wait_mean_ns = 0;		 /* T; 0: all waits are recorded. The daemon sets it, at any
				  * time. */
SETTING __u64 wait_least_ns = 0; /* shorter parts are only counted */

/* Draws the distance in ns to the next point, from an exponential distribution with this mean,
 * which is at most a minute. */
static __always_inline __s64 draw_wait(__u64 mean_ns)
{
	__u64 u = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;

	return (mean_ns * (minus_log2(u) * LOG_2 >> LOG_BITS) >> LOG_BITS) + 1;
}

/* Subtracts `ns` of waiting time from the distance to the next sampling point. Returns whether the
 * point is in that time. */
static __always_inline bool has_point(struct wait_thread *thread, __u64 ns, __u64 mean_ns)
{
	if (!mean_ns)
		return true;
	if (thread->mean_ns != mean_ns) {
		thread->mean_ns = mean_ns;
		thread->left_ns = draw_wait(mean_ns);
	}
	thread->left_ns -= ns;
	if (thread->left_ns > 0)
		return false;
	thread->left_ns = draw_wait(mean_ns);
	return true;
}

/* Returns whether a part of a wait of `ns` is recorded. */
static __always_inline bool is_kept(struct wait_thread *thread, __u64 ns, __u64 mean_ns)
{
	if (!ns)
		return false;
	if (ns < wait_least_ns) {
		count_wait(STACKD_WAIT_SHORT, 1);
		count_wait(STACKD_WAIT_SHORT_NS, ns);
		return false;
	}
	return has_point(thread, ns, mean_ns);
}

/* Returns whether the blocked part, of `ns`, is recorded. The wake-up may have decided that for the
 * time until then. */
static __always_inline bool is_blocked_kept(struct wait_thread *thread, __u64 ns, __u64 mean_ns)
{
	__u64 drawn = thread->drawn_ns;

	if (!drawn)
		return is_kept(thread, ns, mean_ns);
	return thread->is_drawn || (ns > drawn && has_point(thread, ns - drawn, mean_ns));
}

#endif
