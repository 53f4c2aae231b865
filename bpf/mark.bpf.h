/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A mark (--mark) is a place rather than a function: each hit ends the instance before and begins
 * the next. Its path is that of the hit. It has no return to be matched, so in a thread it is found
 * by its number among the marks that were begun since the innermost function was entered; it is
 * dropped with that function. A span's beginning and end are two places of one mark.
 */
#ifndef MARK_BPF_H
#define MARK_BPF_H

#include "region.bpf.h"

/* Returns how many marks are open within the open instance of a mark; -1: it has none in the
 * innermost function. */
static __always_inline int marks_within(struct region_thread *thread, __u32 mark)
{
	__u32 at = innermost_at(thread);

	for (int i = 0; i < REGION_DEPTH && (__u32)i < at; i++) {
		struct open_instance *open = &thread->open[BOUNDED(at - 1 - i, REGION_DEPTH)];

		if (open->region == mark)
			return i;
		if (!is_mark(open->region))
			break;
	}
	return -1;
}

/* Drops the innermost instances. (A loop whose condition stood at its end would fall through into
 * its first instruction, which Linux 6.1 refuses.) */
static __always_inline void drop_some(struct region_thread *thread, int count, __u64 now, __u64 cpu)
{
	for (int i = 0; i < REGION_DEPTH; i++) {
		__u32 at = innermost_at(thread);

		if (!at || i >= count)
			break;
		end_left(thread, at - 1, now, cpu);
	}
}

/* Ends a mark's open instance, which is then in thread->ended, and drops the marks within it.
 * false: there is none. */
static __always_inline bool end_mark(struct region_thread *thread, struct task_struct *task,
				     struct pt_regs *ctx, __u64 cookie, __u64 now, __u64 cpu)
{
	int within = marks_within(thread, STACKD_REGION_NUMBER(cookie));
	__u32 at;

	drop_some(thread, within, now, cpu);
	at = innermost_at(thread);
	if (within < 0 || !at)
		return false;
	if (!(cookie & STACKD_MARK_ENDS)) {
		end_left(thread, at - 1, now, cpu);
		return false;
	}
	end_instance(thread, at - 1, now, cpu);
	readings_end(task, at - 1);
	count_region(STACKD_REGION_ENDED);
	/* The walk begins where the thread is. */
	thread->ended.function = ctx->rip;
	thread->ended.slot = ctx->rsp;
	return true;
}

/* Begins at the time of the hit, so that iterations add up to their loop's time. */
static __always_inline void begin_mark(struct region_thread *thread, struct task_struct *task,
				       struct pt_regs *ctx, __u64 cookie, __u64 now, __u64 cpu)
{
	struct open_instance *around = innermost(thread), *open;
	__u32 region = 0;
	__u64 slot = ~0ull;

	if (around && is_mark(around->region)) {
		slot = around->slot;
		region = around->around;
	} else if (around) {
		slot = around->slot - 1;
		region = around->region;
	}
	open = begin_instance(thread, task, STACKD_REGION_NUMBER(cookie), slot, 0, ctx->rip,
			      cookie);
	if (!open)
		return;
	open->around = region;
	open->enter_ns = now;
	open->enter_cpu = cpu;
}

SEC("uprobe")
int stackd_region_mark(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 now, cpu, cookie = bpf_get_attach_cookie(ctx);
	struct region_thread *thread;
	bool has_ended;

	if (!is_measured(task, bpf_get_current_pid_tgid() >> 32))
		return 0;
	if (cookie & STACKD_MARK_COUNTS) {
		count_hit(task, STACKD_MARK_INDEX(cookie));
		return 0;
	}
	thread = CHECKED(
		bpf_task_storage_get(&region_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE));
	if (!thread) {
		count_region(STACKD_REGION_NO_MEMORY);
		return 0;
	}
	BUSY(thread, 1); /* before the time is taken: no sample's reading may come in between */
	now = bpf_ktime_get_ns();
	cpu = cpu_clock(task);
	/* A function at whose slot another is called has been left. */
	drop_left(thread, ctx->rsp, ctx->rsp + (cookie & STACKD_MARK_ENTRY ? 1 : 0), now, cpu);
	has_ended = end_mark(thread, task, ctx, cookie, now, cpu);
	if (cookie & STACKD_MARK_BEGINS)
		begin_mark(thread, task, ctx, cookie, now, cpu);
	BUSY(thread, 0);
	/* Late, so that the walk, which takes most of the stack there is, has little to keep. */
	if (has_ended) {
		report_instance(thread, ctx, task);
		readings_begin_again(thread, task);
	}
	return 0;
}

#endif
