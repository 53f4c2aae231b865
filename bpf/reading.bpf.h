/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Readings: the values of counters (--counter) at samples within instances (passes through
 * regions), and at both ends of instances. From them `stackctl fold` computes the course of a
 * counter over a pass. With --mpi, counters are read at samples between instances, too, since
 * `fold` shows the computation between two calls of MPI as well.
 *
 * A counter is a number that the kernel keeps for the thread (CPU time, page faults, bytes read), a
 * variable of the program, or a perf event (event_sum.bpf.h). Readings are absolute values, in a
 * separate record right before the record of the sample or the instance, with the same thread and
 * time. Since they are absolute, a reading for which the ring buffer has no room does not affect
 * the next one.
 *
 * The address of a variable is found at a probe. At the entry of a region or the hit of a mark in
 * the same file, the distance from the program counter to the variable is the same in all
 * processes. Each such probe has a number (a place), by which the distances are looked up.
 */
#ifndef READING_BPF_H
#define READING_BPF_H

#include "event_sum.bpf.h"
#include "instance.bpf.h"
#include "scratch.bpf.h"

SETTING __u32 reading_between = 0; /* samples outside of instances have readings, too */

/* The distances of variables from a probe, by the probe's number; entry 0 has none. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the daemon */
	__type(key, __u32);
	__type(value, struct stackd_place);
} places SEC(".maps");

struct readings {
	__u64 values[STACKD_MOST_COUNTERS];
	struct event_moment moment; /* of the counters that are events */
	__u32 known;		    /* a bit for each counter that could be read */
	__u32 pad;
};

/* What is kept of a thread for readings, besides struct region_thread. */
struct reading_thread {
	__u64 variables[STACKD_MOST_COUNTERS]; /* addresses of the variables; 0: not known */
	__u64 counted[STACKD_MOST_COUNTERS];   /* values of the counters that the BPF programs
						* count themselves */
	__u8 bytes[STACKD_MOST_COUNTERS];      /* the variables' sizes */
	__u32 sending; /* the counters at the last instance's end were read, but not sent yet */
	__u32 pad;
	struct readings ended;		       /* the values at the end of the instance that has
						* ended, */
	struct readings passed;		       /* and their increase since its start */
	struct readings entered[REGION_DEPTH]; /* the values at the starts of open instances, by
						* index */
};

_Static_assert(sizeof(struct reading_thread) <= MOST_STORAGE, "task storage");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct reading_thread);
} reading_threads SEC(".maps");

/* Reads a variable as an unsigned number. Returns 0, or an error if its address is not known or
 * cannot be read. */
static __always_inline long read_variable(const struct reading_thread *t, __u32 i, __u64 *to)
{
	const void *from = (const void *)t->variables[i];

	*to = 0;
	if (!from)
		return -1;
	switch (t->bytes[i]) {
	case 8:
		return bpf_probe_read_user(to, 8, from);
	case 4:
		return bpf_probe_read_user(to, 4, from);
	case 2:
		return bpf_probe_read_user(to, 2, from);
	default:
		return bpf_probe_read_user(to, 1, from);
	}
}

/* Kinds of pages: of files, anonymous, swapped out, shared (MM_FILEPAGES and so on). */
#define PAGE_KINDS 4
#define PAGE_BYTES 4096

/* Returns the bytes of a process that are in memory, without those that CPUs have not added up
 * yet. */
static __always_inline __u64 resident(struct task_struct *task)
{
	struct mm_struct___percpu *newer = (struct mm_struct___percpu *)task->mm;
	struct mm_struct___total *older = (struct mm_struct___total *)task->mm;
	__s64 count[PAGE_KINDS] = {}, pages;

	if (bpf_core_field_exists(older->rss_stat.count)) {
		bpf_core_read(count, sizeof(count), &older->rss_stat.count);
	} else if (bpf_core_field_exists(newer->rss_stat)) {
		bpf_core_read(&count[0], sizeof(count[0]), &newer->rss_stat[0].count);
		bpf_core_read(&count[1], sizeof(count[1]), &newer->rss_stat[1].count);
		bpf_core_read(&count[3], sizeof(count[3]), &newer->rss_stat[3].count);
	}
	pages = count[0] + count[1] + count[3];
	return pages > 0 ? (__u64)pages * PAGE_BYTES : 0;
}

/* Returns the value of a counter that the kernel keeps. */
static __always_inline __u64 read_kept(struct task_struct *task, __u32 kind)
{
	switch (kind) {
	case STACKD_COUNTER_CPU:
		return cpu_clock(task);
	case STACKD_COUNTER_FAULTS:
		return task->min_flt + task->maj_flt;
	case STACKD_COUNTER_MAJOR_FAULTS:
		return task->maj_flt;
	case STACKD_COUNTER_SWITCHES:
		return task->nvcsw + task->nivcsw;
	case STACKD_COUNTER_READ:
		return bpf_core_field_exists(task->ioac.rchar) ? task->ioac.rchar : 0;
	case STACKD_COUNTER_WRITTEN:
		return bpf_core_field_exists(task->ioac.wchar) ? task->ioac.wchar : 0;
	case STACKD_COUNTER_RESIDENT:
		return resident(task);
	default:
		return 0;
	}
}

/* Reads the counters into `values`, and the moment of the events into `moment`. Returns a bit for
 * each that could be read. The loop is unrolled, so that the BPF verifier, which knows the settings
 * when the program is loaded, keeps of each iteration only the code for that counter. */
static __always_inline __u32 read_counters(const struct reading_thread *t, struct task_struct *task,
					   __u64 *values, struct event_moment *moment)
{
	__u32 known = read_events(task, values, moment);

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < STACKD_MOST_COUNTERS; i++) {
		if (i >= reading_count)
			break;
		if (reading_kinds[i] == STACKD_COUNTER_EVENT)
			continue;
		if (reading_kinds[i] >= STACKD_COUNTER_ALLOCATED)
			values[i] = t->counted[i];
		else if (reading_kinds[i] != STACKD_COUNTER_VARIABLE)
			values[i] = read_kept(task, reading_kinds[i]);
		else if (read_variable(t, i, &values[i]))
			continue;
		known |= 1u << i;
	}
	return known;
}

/* Returns what is kept of the thread for readings; NULL: it has met no region. */
static __always_inline struct reading_thread *reading_thread_of(struct task_struct *task)
{
	return CHECKED(bpf_task_storage_get(&reading_threads, task, 0, 0));
}

/* Counts a hit of a probe that a counter counts. */
static __always_inline void count_hit(struct task_struct *task, __u32 index)
{
	struct reading_thread *t = CHECKED(
		bpf_task_storage_get(&reading_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE));

	if (t)
		t->counted[BOUNDED(index, STACKD_MOST_COUNTERS)]++;
}

/* Adds the weight (bytes) of a sampled allocation to the counters of allocated bytes, if the thread
 * has met a region. */
static __always_inline void count_allocated(struct task_struct *task, __u64 bytes)
{
	struct reading_thread *t = reading_count ? reading_thread_of(task) : NULL;

	if (!t)
		return;
	for (__u32 i = 0; i < STACKD_MOST_COUNTERS; i++) {
		if (i >= reading_count)
			break;
		if (reading_kinds[i] == STACKD_COUNTER_ALLOCATED)
			t->counted[i] += bytes;
	}
}

/* Sets the addresses of the variables that have a distance from the current probe (struct
 * stackd_place). */
static __always_inline void find_variables(struct reading_thread *t, __u64 address, __u64 cookie)
{
	__u32 number = STACKD_PLACE_NUMBER(cookie);
	const struct stackd_place *place = CHECKED(bpf_map_lookup_elem(&places, &number));

	if (!number || !place)
		return;
	for (__u32 i = 0; i < STACKD_MOST_COUNTERS; i++) {
		if (i >= reading_count)
			break;
		if (!place->bytes[i])
			continue;
		t->variables[i] = address + place->distance[i];
		t->bytes[i] = place->bytes[i];
	}
}

/* Reads the counters when the instance with this index in its thread begins. This is a function for
 * the same reason as mpi_enter(). It is unused if a program is built without regions. */
static __noinline __attribute__((unused)) int readings_begin(struct task_struct *task, __u32 index,
							     __u64 address, __u64 cookie)
{
	struct reading_thread *t;
	struct readings *entered;

	if (!reading_count)
		return 0;
	t = CHECKED(
		bpf_task_storage_get(&reading_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE));
	if (!t)
		return 0;
	find_variables(t, address, cookie);
	events_begin(task);
	entered = &t->entered[BOUNDED(index, REGION_DEPTH)];
	entered->known = read_counters(t, task, entered->values, &entered->moment);
	return 0;
}

/* Reads the counters again for the innermost open instance, after a probe's work, so that the
 * probe's cost is not part of the instance. */
static __always_inline void readings_begin_again(const struct region_thread *thread,
						 struct task_struct *task)
{
	struct reading_thread *t;
	struct readings *entered;

	if (!reading_count || !innermost_at(thread))
		return;
	t = reading_thread_of(task);
	if (!t)
		return;
	entered = &t->entered[BOUNDED(innermost_at(thread) - 1, REGION_DEPTH)];
	entered->known = read_counters(t, task, entered->values, &entered->moment);
}

/* A volatile write, since the sampler can interrupt the programs that set this. */
#define SENDING(t, is) (*(volatile __u32 *)&(t)->sending = (is))

/* Reads the counters when the instance ends. Until readings_sent(), samples have no readings, since
 * these would arrive before the reading of the instance's end, which is older. */
static __always_inline void readings_end(struct task_struct *task, __u32 index)
{
	struct reading_thread *t = reading_count ? reading_thread_of(task) : NULL;
	const struct readings *entered;

	if (!t)
		return;
	entered = &t->entered[BOUNDED(index, REGION_DEPTH)];
	SENDING(t, 1);
	t->ended.known = read_counters(t, task, t->ended.values, &t->ended.moment);
	for (__u32 i = 0; i < STACKD_MOST_COUNTERS; i++) {
		if (i >= reading_count)
			break;
		t->passed.values[i] = t->ended.values[i] - entered->values[i];
	}
	t->passed.known =
		events_passed(t->ended.known & entered->known, &entered->moment, &t->ended.moment);
}

/* Copies the readings of the ended instance into the scratch area, for send_reading(). */
static __always_inline void readings_of_instance(struct scratch *s, struct task_struct *task)
{
	const struct reading_thread *t = reading_count ? reading_thread_of(task) : NULL;

	if (!t)
		return;
	s->reading.is_end = 1;
	s->reading.known = t->ended.known;
	s->reading.passed_known = t->passed.known;
	for (__u32 i = 0; i < STACKD_MOST_COUNTERS; i++) {
		s->reading.values[i] = t->ended.values[i];
		s->reading.passed[i] = t->passed.values[i];
	}
	s->has_reading = 1;
}

/* Notes that the ended instance was sent, or cannot be sent. */
static __always_inline void readings_sent(struct task_struct *task)
{
	struct reading_thread *t = reading_count ? reading_thread_of(task) : NULL;

	if (t)
		SENDING(t, 0);
}

/* Returns what is kept of the sample's thread for regions; NULL: nothing, or it is not needed. */
static __always_inline struct region_thread *region_thread_of(struct task_struct *task)
{
	if (!is_joined && !reading_count)
		return NULL;
	return CHECKED(bpf_task_storage_get(&region_threads, task, 0, 0));
}

/* Reads the counters at a sample, if it is within an instance, or readings between instances are
 * wanted. */
static __always_inline void readings_of_sample(struct scratch *s, struct task_struct *task,
					       const struct region_thread *thread)
{
	const struct reading_thread *t;

	s->has_reading = 0;
	if (!reading_count)
		return;
	t = thread && (thread->count || reading_between) && !thread->busy ? reading_thread_of(task)
									  : NULL;
	if (!t || t->sending)
		return;
	s->reading.is_end = 0;
	s->reading.known = read_counters(t, task, s->reading.values, NULL);
	s->reading.passed_known = 0;
	s->has_reading = 1;
}

#endif
