/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decides which samples are recorded, if the choice of perf events alone does not decide it.
 *
 * An event that tasks inherit gives each task a clock of its own. The clock begins with a whole
 * period, and an unfinished period is lost at the task's exit. So tasks that run for less than a
 * period have no sample, however many of them there are, and a task of 2.9 periods has two samples.
 * The clock of a CPU continues from task to task: on average, each task has as many samples as
 * periods fit into its time. So if processes are recorded, events are opened on CPUs, and the BPF
 * program returns at once if a sample hits another process.
 *
 * Two kinds of events are still opened for tasks: those with branch records, which the kernel saves
 * and restores only for tasks, and those with a period of 1, which lose nothing (daemon/attach.h).
 */
#ifndef SCOPE_BPF_H
#define SCOPE_BPF_H

#include "tracked_pids.bpf.h"
#include "scratch.bpf.h"

SETTING __u32 by_members = 0; /* events are opened on CPUs, and only samples of the recorded
			       * processes are recorded */

/* --- threads that are sampled twice --------------------------------------------------------- */

/*
 * Threads that appeared while the daemon was opening events on their process. Such a thread gets an
 * event of its own, with an attach cookie, and may also have inherited an event (without a cookie),
 * which must not sample it a second time. The value is the task's start time once its own event has
 * fired, so that a later thread with the same number is not mistaken for it; 0 before.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u64);
} late_threads SEC(".maps");

__u32 has_late_threads = 0; /* set by the daemon before it adds the first such thread */

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

/* --- processes ------------------------------------------------------------------------------ */

/* Returns whether the sample is of a process that is not recorded. Samples of idle CPUs are. */
static __always_inline bool is_outside(struct task_struct *task, __u32 pid)
{
	return by_members && (!pid || pid == held_pid || !is_member(task, pid));
}

#endif
