/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts perf events for each thread (--counter instructions): cycles, instructions, cache misses.
 *
 * The events are opened for each CPU, not for each thread, since BPF programs cannot read inherited
 * events, and threads that begin later would have no others. A thread gets what its CPU has counted
 * while the thread ran there, summed up at each switch of threads.
 *
 *     comes to a CPU   began = the CPU's count
 *     leaves it        sum += the CPU's count - began
 *
 * A processor has few counters. If it cannot count all events at once, the events form several
 * groups, and the daemon makes the groups take turns (daemon/capture/event_groups.h). A pass
 * through a region gets the values of a group only if that group was counting from the pass's
 * beginning to its end, so nothing is scaled up. If another user of the processor's counters
 * interfered, an event was enabled for some time without counting; then the pass has no values.
 */
#ifndef EVENT_SUM_BPF_H
#define EVENT_SUM_BPF_H

#include "scratch.bpf.h"

/* Set by the daemon before loading. */
SETTING __u32 reading_count = 0;			 /* number of counters; 0: none */
SETTING __u8 reading_kinds[STACKD_MOST_COUNTERS] = {0};	 /* enum stackd_counter_kind */
SETTING __u8 reading_events = 0;			 /* a bit for each counter that is a perf
							  * event */
SETTING __u8 reading_groups[STACKD_MOST_COUNTERS] = {0}; /* for each counter that is an event:
							  * the number of its group */
SETTING __u8 reading_leaders = 0; /* a bit for each counter that is the first event (the leader)
				   * of its group */

/* The groups of events take turns in counting. This is the number of the current turn *
 * STACKD_MOST_COUNTERS + the number of the group that counts; 0: none counts. Each turn has another
 * value, so that a sum that is made while the turn changes is noticed. */
__u32 event_turn = 0;

/* The events, at CPU * STACKD_MOST_COUNTERS + the counter's index. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1); /* set by the daemon */
	__type(key, __u32);
	__type(value, __u32);
} event_fds SEC(".maps");

struct event_thread {
	__u64 sums[STACKD_MOST_COUNTERS];  /* what the events have counted for the thread, up to
					    * the last switch */
	__u64 began[STACKD_MOST_COUNTERS]; /* the CPU's counts when the thread came to it */
	__u64 absent, absent_began; /* `absent`: time for which enabled events did not count, up
				     * to the last switch; absent_began: the CPU's value when the
				     * thread came to it */
	__u32 cpu;		    /* its CPU, plus 1; 0: not known */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct event_thread);
} event_threads SEC(".maps");

/* The moment at which counters were read. If two moments are equal, the same group was counting
 * from one to the other, without a gap. */
struct event_moment {
	__u64 absent; /* as in struct event_thread, for the turn's group, plus a constant */
	__u32 turn;
	__u32 pad;
};

#define UNREADABLE (~0ull)

#define EVENT_TURN() (*(volatile __u32 *)&event_turn)

/* Reads the leader of a group of events, and adds to *absent the time for which it did not count;
 * then the other events of the group did not count, either. Returns its value, or UNREADABLE. It is
 * a function, so that its stack is not part of the programs' stacks. */
static __noinline __u64 read_leader(__u32 index, __u64 *absent)
{
	struct bpf_perf_event_value now = {};

	if (bpf_perf_event_read_value(&event_fds, index, &now, sizeof(now)))
		return UNREADABLE;
	*absent += now.enabled - now.running;
	return now.counter;
}

/* Returns the value of event `i` on a CPU, or UNREADABLE. An event that is not its group's leader
 * is read without its times, which is faster. */
static __always_inline __u64 read_event(__u32 cpu, __u32 i, __u64 *absent)
{
	const __u32 index = cpu * STACKD_MOST_COUNTERS + i;
	__u64 now;

	if (reading_leaders & 1u << i)
		return read_leader(index, absent);
	now = bpf_perf_event_read(&event_fds, index);
	return now > -4096ull ? UNREADABLE : now; /* the highest values are error numbers */
}

/* Reads the events of this CPU into `values`. Returns a bit for each that could be read. The loop
 * is unrolled, so that the BPF verifier, which knows the settings, drops the iterations of counters
 * that are not events. */
static __always_inline __u32 read_cpu_events(__u32 cpu, __u64 *values, __u64 *absent)
{
	__u32 read = 0;

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < STACKD_MOST_COUNTERS; i++) {
		if (!(reading_events & 1u << i))
			continue;
		values[i] = read_event(cpu, i, absent);
		if (values[i] != UNREADABLE)
			read |= 1u << i;
	}
	return read;
}

/* Notes that the thread comes to a CPU. If an event cannot be read, the thread's events on that CPU
 * are not counted, and its open passes get no values. */
static __always_inline void events_come(struct event_thread *t, __u32 cpu)
{
	t->absent_began = 0;
	if (read_cpu_events(cpu, t->began, &t->absent_began) == reading_events) {
		t->cpu = cpu + 1;
		return;
	}
	t->cpu = 0;
	t->absent++;
	t->absent_began = 0;
}

/* Notes that the thread leaves the CPU, and adds what the events have counted meanwhile. */
static __always_inline void events_leave(struct event_thread *t, __u32 cpu)
{
	__u64 absent = 0;

	if (t->cpu != cpu + 1) {
		t->absent++;
		return;
	}
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < STACKD_MOST_COUNTERS; i++) {
		__u64 now;

		if (!(reading_events & 1u << i))
			continue;
		now = read_event(cpu, i, &absent);
		if (now == UNREADABLE)
			t->absent++;
		else
			t->sums[i] += now - t->began[i];
	}
	t->absent += absent - t->absent_began;
	t->cpu = 0;
}

SEC("tp_btf/sched_switch")
int stackd_event_switch(__u64 *ctx)
{
	struct task_struct *before = (struct task_struct *)ctx[1];
	struct task_struct *after = (struct task_struct *)ctx[2];
	const __u32 cpu = bpf_get_smp_processor_id();
	struct event_thread *t;

	if (before->bpf_storage) {
		t = CHECKED(bpf_task_storage_get(&event_threads, before, 0, 0));
		if (t)
			events_leave(t, cpu);
	}
	if (after->bpf_storage) {
		t = CHECKED(bpf_task_storage_get(&event_threads, after, 0, 0));
		if (t)
			events_come(t, cpu);
	}
	return 0;
}

/* Begins to count events for the current thread, unless they are being counted. */
static __always_inline void events_begin(struct task_struct *task)
{
	struct event_thread *t;

	if (!reading_events)
		return;
	t = CHECKED(bpf_task_storage_get(&event_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE));
	if (t && !t->cpu)
		events_come(t, bpf_get_smp_processor_id());
}

/* Reads into `values` those events of the current thread whose group counts now, and the moment
 * into `moment`. Returns a bit for each value. */
static __always_inline __u32 read_events(struct task_struct *task, __u64 *values,
					 struct event_moment *moment)
{
	const __u32 turn = EVENT_TURN(), group = turn % STACKD_MOST_COUNTERS;
	const __u32 cpu = bpf_get_smp_processor_id();
	struct event_thread *t;
	__u64 absent = 0;
	__u32 known = 0;

	if (!reading_events || !turn)
		return 0;
	t = CHECKED(bpf_task_storage_get(&event_threads, task, 0, 0));
	if (!t || t->cpu != cpu + 1)
		return 0;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < STACKD_MOST_COUNTERS; i++) {
		__u64 now;

		if (!(reading_events & 1u << i) || reading_groups[i] != group)
			continue;
		now = read_event(cpu, i, &absent);
		if (now == UNREADABLE)
			continue;
		values[i] = t->sums[i] + now - t->began[i];
		known |= 1u << i;
	}
	if (moment) {
		moment->turn = turn;
		moment->absent = t->absent + absent - t->absent_began;
	}
	return turn == EVENT_TURN() ? known : 0;
}

/* Returns, as bits, the counters whose values are known over a pass; `known` has those that are
 * known at both of its ends. */
static __always_inline __u32 events_passed(__u32 known, const struct event_moment *from,
					   const struct event_moment *to)
{
	if (!reading_events)
		return known;
	if (known & reading_events && from->turn == to->turn && from->absent == to->absent) {
		count_region(STACKD_REGION_EVENTS);
		return known;
	}
	count_region(STACKD_REGION_EVENTS_CUT);
	return known & ~(__u32)reading_events;
}

#endif
