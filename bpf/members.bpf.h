/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes that are recorded, and the children that they start from now on: what samples of
 * CPUs (scope.bpf.h), regions and waits are filtered by, where the scope is processes.
 *
 * A process is known by its id and its start time, so that a later one with the same id is not
 * mistaken for it. It is removed when its last reference to the id is gone, after everything that
 * happens at its exit. Where there is no room for a child, it is left out, as are its own children;
 * this is counted.
 */
#ifndef MEMBERS_BPF_H
#define MEMBERS_BPF_H

#include "scratch.bpf.h"

/* Process ids, with the start time of each process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u64); /* 0: whichever process has this id when it is first met */
} members SEC(".maps");

/* Is this thread one of a process that is recorded? */
static __always_inline bool is_member(struct task_struct *task, __u32 pid)
{
	__u64 *start = CHECKED(bpf_map_lookup_elem(&members, &pid));
	__u64 start_time = task->group_leader->start_time;

	if (start && !*start)
		*start = start_time;
	return start && *start == start_time;
}

static __always_inline void count_not_followed(void)
{
	__u32 here = 0;
	struct stackd_counters *counted = CHECKED(bpf_map_lookup_elem(&counters, &here));

	/* One such program may preempt another. */
	if (counted)
		__sync_fetch_and_add(&counted->n[STACKD_COUNT_NOT_FOLLOWED], 1);
}

SEC("raw_tp/sched_process_fork")
int stackd_member_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0];
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	__u32 pid = BPF_CORE_READ(child, tgid), of = BPF_CORE_READ(parent, tgid);
	__u64 start_time = BPF_CORE_READ(child, start_time);
	__u64 *start;

	if (pid == of)
		return 0; /* a thread */
	start = CHECKED(bpf_map_lookup_elem(&members, &of));
	if (!start || (*start && *start != BPF_CORE_READ(parent, group_leader, start_time)))
		return 0;
	if (bpf_map_update_elem(&members, &pid, &start_time, BPF_ANY))
		count_not_followed();
	return 0;
}

/* A process has ended and was waited for. */
SEC("raw_tp/sched_process_free")
int stackd_member_free(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, tgid);
	__u64 *start;

	if (pid != (__u32)BPF_CORE_READ(task, pid))
		return 0; /* a thread */
	start = CHECKED(bpf_map_lookup_elem(&members, &pid));
	if (start && (!*start || *start == BPF_CORE_READ(task, start_time)))
		bpf_map_delete_elem(&members, &pid);
	return 0;
}

#endif
