/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the task that a CPU is about to switch to, because it was woken there.
 *
 * The scheduler takes tasks with a deadline first, then real-time tasks, then all others. Of the
 * first two classes it takes the first task in the queue, which this program finds in the same way.
 * If that is the current task, there is no switch.
 *
 * Of the others it takes the task that it owes most CPU time. To compute that here would take too
 * long, so the task that was queued last is taken for it, since its wake-up has caused the switch.
 * A queue begins with the tasks that were queued or chosen last. But since Linux 6.12 a task that
 * blocks can stay in the queue for a while (`sched_delayed`). If it is woken then, it keeps its
 * place, behind all tasks that were chosen since. So several tasks are examined, each of which has
 * the time at which it was queued. That time is 0 for the current task, and for a task that has
 * stayed although it is blocked. On a kernel without such times (CONFIG_SCHED_INFO), only the first
 * task is examined.
 */
#ifndef NEXT_TASK_BPF_H
#define NEXT_TASK_BPF_H

#include "scratch.bpf.h"

#define QUEUED_MOST 8 /* number of tasks of a queue that are examined */
#define RT_PRIOS    100

#define ENTRY_OF(type, member, address) ((type *)((address)-bpf_core_field_offset(type, member)))

/* *ret_is_server: the first entity stands for tasks of the last class, and one of them is next. */
static __always_inline struct task_struct *next_by_deadline(const struct rq *rq,
							    bool *ret_is_server)
{
	__u64 first = 0;
	struct sched_dl_entity *entity;

	if (bpf_core_field_exists(rq->dl.root.rb_leftmost))
		first = (__u64)BPF_CORE_READ(rq, dl.root.rb_leftmost);
	if (!first)
		return NULL;
	entity = ENTRY_OF(struct sched_dl_entity, rb_node, first);
	/* since Linux 6.8 an entity can stand for the tasks without a deadline */
	if (bpf_core_field_exists(entity->dl_server) &&
	    BPF_CORE_READ_BITFIELD_PROBED(entity, dl_server)) {
		*ret_is_server = true;
		return NULL;
	}
	return ENTRY_OF(struct task_struct, dl, (__u64)entity);
}

static __always_inline struct task_struct *next_of_real_time(const struct rq *rq)
{
	struct sched_rt_entity *entity;
	struct list_head *queue;
	__u32 priority;

	/* without time left (sched_rt_runtime_us), they have tasks and are not queued */
	if (!bpf_core_field_exists(rq->rt.highest_prio.curr) ||
	    !bpf_core_field_exists(rq->rt.rt_queued) || !BPF_CORE_READ(rq, rt.rt_queued))
		return NULL;
	priority = BPF_CORE_READ(rq, rt.highest_prio.curr);
	if (priority >= RT_PRIOS)
		return NULL;
	queue = (struct list_head *)((__u64)rq +
				     bpf_core_field_offset(struct rq, rt.active.queue)) +
		priority;
	entity = ENTRY_OF(struct sched_rt_entity, run_list, (__u64)BPF_CORE_READ(queue, next));
	if (bpf_core_field_exists(entity->my_q) && BPF_CORE_READ(entity, my_q))
		return NULL; /* a group of tasks, in cgroups of version 1 */
	return ENTRY_OF(struct task_struct, rt, (__u64)entity);
}

/* Returns a number that is larger the later a task was queued; 0: it does not wait to run. Without
 * such times, only the queue's first task (`place` 0) gets a number. */
static __always_inline __u64 queued_at(const struct task_struct *task,
				       const struct task_struct *current, __u32 place)
{
	if (bpf_core_field_exists(task->sched_info.last_queued))
		return BPF_CORE_READ(task, sched_info.last_queued);
	return !place && task != current;
}

static __always_inline struct task_struct *next_of_others(const struct rq *rq,
							  const struct task_struct *current)
{
	const __u64 end = (__u64)rq + bpf_core_field_offset(struct rq, cfs_tasks);
	struct task_struct *task, *last = NULL;
	__u64 at = end, queued, latest = 0;

	for (__u32 i = 0; i < QUEUED_MOST; i++) {
		at = (__u64)BPF_CORE_READ((struct list_head *)at, next);
		if (!at || at == end)
			break;
		task = ENTRY_OF(struct task_struct, se.group_node, at);
		queued = queued_at(task, current, i);
		if (queued > latest) {
			latest = queued;
			last = task;
		}
	}
	return last;
}

/* Returns the task that is to run next on the CPU of `current`; NULL: it was not found, or it is
 * `current`. */
static __noinline struct task_struct *next_task(const struct rq *rq,
						const struct task_struct *current)
{
	bool is_server = false;
	struct task_struct *next = next_by_deadline(rq, &is_server);

	if (!next && !is_server)
		next = next_of_real_time(rq);
	if (!next && bpf_core_field_exists(rq->cfs_tasks))
		next = next_of_others(rq, current);
	return next == current ? NULL : next;
}

#endif
