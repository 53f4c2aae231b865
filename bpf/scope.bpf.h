/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where perf's own scope is not exact: threads that are sampled twice, and processes of very many
 * threads.
 *
 * An event of each of their threads would be opened in minutes, while those threads take the CPUs,
 * and each would cost memory, and time at each switch. So events are opened on the CPUs, and a
 * filter lets samples through of the processes that are recorded, and of the children that they
 * start, as events that are inherited would.
 */
#ifndef SCOPE_BPF_H
#define SCOPE_BPF_H

#include "members.bpf.h"
#include "scratch.bpf.h"

SETTING __u32 is_crowd = 0;

/* --- threads that are sampled twice --------------------------------------------------------- */

/*
 * Threads that appeared while the daemon was opening events on their process. Such a thread gets
 * an event of its own, with an attach cookie, and may have inherited one too (no cookie), which
 * must not sample it a second time. The value is the task's start time once its own event has
 * fired, so that a later thread with the same number is not mistaken for it; 0 before.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u64);
} late_threads SEC(".maps");

__u32 has_late_threads = 0; /* set by the daemon before the first of them */

static __always_inline bool is_sampled_twice(struct bpf_perf_event_data *ctx, __u32 tid,
					     __u64 start_time)
{
	__u64 *late = has_late_threads ? CHECKED(bpf_map_lookup_elem(&late_threads, &tid)) : NULL;

	if (!late)
		return false;
	if (bpf_get_attach_cookie(ctx)) {
		*late = start_time;
		return false;
	}
	return *late == 0 || *late == start_time;
}

/* --- processes of very many threads ---------------------------------------------------------- */

/* Is the sample of another process than those that are recorded? */
static __always_inline bool is_outside_crowd(struct task_struct *task, __u32 pid)
{
	return is_crowd && !is_member(task, pid);
}

#endif
