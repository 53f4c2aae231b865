/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPU time of the tasks in scope as the scheduler counts it. Reports show it beside the sum of
 * the samples' periods, so that it is noticed if a recording lacks samples of some kind of task.
 *
 * A program at each switch would cost too much. The scheduler keeps each task's sum itself, and the
 * sum is complete when the task is freed, after its last switch. So tasks are identified by the
 * addresses of their structs from the moment when they are made. A task's time is added up when the
 * task is freed and, while it lives or waits to be freed, when the daemon looks, about once a
 * second. The sum of a task that runs at that moment is at most a tick of the scheduler behind.
 *
 * A task can be freed while the daemon reads its time. Both programs add the increase since the
 * time that was counted before, and replace the counted time by one atomic instruction. If the
 * daemon's program does so first, the task still existed when its time was read. If a task was
 * freed without a trace, the start time at its address differs from the entry's, so the time there
 * is not used.
 *
 * To look at all entries of a hash map costs 25 ns for each of its buckets, whether one is in use
 * or not: 1.6 ms for 65,536. So the first tasks are in a small map, and the daemon's program looks
 * at the large one only if the small one has ever been full.
 */
#ifndef TASK_TIME_BPF_H
#define TASK_TIME_BPF_H

#include "scratch.bpf.h"

#define TASK_IS_DEAD 0x80  /* a bit of task_struct.__state */
#define TIME_OVER    ~0ull /* the task was freed */

__u32 is_time_over = 0;	  /* set by the daemon: sampling has stopped */
__u32 has_more_times = 0; /* more_task_times has been used */

struct task_time {
	__u64 counted; /* the part of its CPU time that was counted, or that it had used before
			* the recording */
	__u64 start_time;
};

/* The key is the address of the task's struct. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct task_time);
} task_times SEC(".maps");

/* The tasks for which task_times has no room. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct task_time);
} more_task_times SEC(".maps");

/* Adds to a counter by an atomic instruction, since another program may preempt this one. */
static __always_inline void add_count(__u32 counter, __u64 n)
{
	__u32 here = 0;
	struct stackd_counters *counted = CHECKED(bpf_map_lookup_elem(&counters, &here));

	if (counted)
		__sync_fetch_and_add(&counted->n[counter], n);
}

/* Returns the task's entry; NULL: it has none. */
static __always_inline struct task_time *task_time_of(__u64 key)
{
	struct task_time *time = CHECKED(bpf_map_lookup_elem(&task_times, &key));

	if (!time && has_more_times)
		time = CHECKED(bpf_map_lookup_elem(&more_task_times, &key));
	return time;
}

/* Makes the task's entry anew. Returns whether a map had room for it. */
static __always_inline bool keep_task_time(__u64 key, const struct task_time *time)
{
	if (has_more_times)
		bpf_map_delete_elem(&more_task_times, &key);
	if (!bpf_map_update_elem(&task_times, &key, time, BPF_ANY))
		return true;
	has_more_times = 1;
	return !bpf_map_update_elem(&more_task_times, &key, time, BPF_ANY);
}

/* Begins to count a task's time; `ns` is the time that it has used before. */
static __always_inline void begin_task_time(struct task_struct *task, __u64 ns)
{
	const struct task_time time = {ns, BPF_CORE_READ(task, start_time)};
	__u64 key = (__u64)task;
	const struct task_time *is = task_time_of(key);

	if (is_time_over || (is && is->start_time == time.start_time))
		return;
	if (!keep_task_time(key, &time))
		add_count(STACKD_COUNT_UNTIMED, 1);
}

static __always_inline void end_task_time(struct task_struct *task)
{
	__u64 key = (__u64)task, before, ns;
	struct task_time *time = task_time_of(key);

	if (!time)
		return;
	before = __sync_lock_test_and_set(&time->counted, TIME_OVER);
	ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	if (!is_time_over && ns > before && time->start_time == BPF_CORE_READ(task, start_time))
		add_count(STACKD_COUNT_CPU_NS, ns - before);
	if (bpf_map_delete_elem(&task_times, &key))
		bpf_map_delete_elem(&more_task_times, &key);
}

struct bpf_map;

static long look_at_task_time(struct bpf_map *map, const __u64 *key, struct task_time *time,
			      void *none)
{
	__u64 before = *(volatile __u64 *)&time->counted, start_time = time->start_time, ns;
	struct task_struct *task = (struct task_struct *)*key;

	(void)map;
	(void)none;
	ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	if (before == TIME_OVER || ns <= before || BPF_CORE_READ(task, start_time) != start_time)
		return 0;
	if (__sync_val_compare_and_swap(&time->counted, before, ns) == before)
		add_count(STACKD_COUNT_CPU_NS, ns - before);
	return 0;
}

/* The daemon runs this about once a second: it adds up what all tasks have used since the last
 * time. */
SEC("syscall")
int stackd_member_look(void *ctx)
{
	(void)ctx;
	bpf_for_each_map_elem(&task_times, look_at_task_time, NULL, 0);
	if (has_more_times)
		bpf_for_each_map_elem(&more_task_times, look_at_task_time, NULL, 0);
	return 0;
}

#endif
