/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes that are recorded, and the children that they start from now on. If only some
 * processes are recorded, this map decides which samples of CPUs (scope.bpf.h), regions, waits and
 * tasks' CPU times (task_time.bpf.h) are in scope.
 *
 * A process is identified by its id and its start time, so that a later process with the same id is
 * not mistaken for it. A child is added at the fork, before it runs. A process is removed after
 * everything that happens at its exit, when the kernel drops the last reference to it. If there is
 * no room for a child, the child and its children are left out; this is counted.
 *
 * The command that stackd starts is in the map before it is executed. Until the exec it is not
 * recorded, since what the new process does before is stackd's work.
 */
#ifndef TRACKED_PIDS_BPF_H
#define TRACKED_PIDS_BPF_H

#include "scratch.bpf.h"
#include "task_time.bpf.h"

SETTING __u32 is_everyone = 0; /* all processes are in scope, whether they are in the map or not */

__u32 held_pid = 0; /* process id of stackd's child that will execute the command, until its
		     * exec; set by the daemon */

/* Process ids, with the start time of each process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u64); /* 0: stands for the start time of the process that has this id
			       * when it is first met */
} members SEC(".maps");

/* Returns whether a thread belongs to a recorded process. */
static __always_inline bool is_member(struct task_struct *task, __u32 pid)
{
	__u64 *start = CHECKED(bpf_map_lookup_elem(&members, &pid));
	__u64 start_time;

	if (!start)
		return false;
	start_time = task->group_leader->start_time;
	if (!*start)
		*start = start_time;
	return *start == start_time;
}

/* Returns whether the parent is in scope, so that the task that it makes is in scope, too. */
static __always_inline bool passes_on(struct task_struct *parent)
{
	__u32 pid = BPF_CORE_READ(parent, tgid);
	__u64 *start;

	if (is_everyone)
		return true;
	start = CHECKED(bpf_map_lookup_elem(&members, &pid));
	return start && (!*start || *start == BPF_CORE_READ(parent, group_leader, start_time));
}

SEC("raw_tp/sched_process_fork")
int stackd_member_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0];
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	__u32 pid = BPF_CORE_READ(child, tgid);
	__u64 start_time;

	if (!passes_on(parent))
		return 0;
	begin_task_time(child, 0);
	if (is_everyone || pid == (__u32)BPF_CORE_READ(parent, tgid))
		return 0;
	start_time = BPF_CORE_READ(child, start_time);
	if (bpf_map_update_elem(&members, &pid, &start_time, BPF_ANY))
		add_count(STACKD_COUNT_NOT_FOLLOWED, 1);
	return 0;
}

/* When the command is executed, begins to count its time. */
SEC("raw_tp/sched_process_exec")
int stackd_member_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];

	if (!held_pid || held_pid != (__u32)BPF_CORE_READ(task, tgid))
		return 0;
	begin_task_time(task, BPF_CORE_READ(task, se.sum_exec_runtime));
	held_pid = 0;
	return 0;
}

/* When a task is freed: it has ended, was waited for, and will not run any more. */
SEC("raw_tp/sched_process_free")
int stackd_member_free(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, tgid);
	__u64 *start;

	end_task_time(task);
	if (pid != (__u32)BPF_CORE_READ(task, pid))
		return 0; /* a thread */
	start = CHECKED(bpf_map_lookup_elem(&members, &pid));
	if (start && (!*start || *start == BPF_CORE_READ(task, start_time)))
		bpf_map_delete_elem(&members, &pid);
	return 0;
}

/* When the recording begins, starts to count the time of each task in scope. Tasks that are made
 * meanwhile are found by the tracepoint. */
SEC("iter/task")
int stackd_member_begin(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || (task->__state & TASK_IS_DEAD) || (__u32)task->tgid == held_pid)
		return 0;
	if (is_everyone || is_member(task, task->tgid))
		begin_task_time(task, task->se.sum_exec_runtime);
	return 0;
}

#endif
