/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A mark (--mark) is a probe at a location in a function, rather than at a function's entry and
 * exit. Each hit of the mark ends the previous pass (its instance) and begins the next. The call
 * path of a pass is the path at the hit that ends it. A mark has no return address to match. Its
 * pass is found by the mark's number, among those that began on the same stack after the innermost
 * function was entered; when that function ends, the pass is dropped. A span is one mark with two
 * locations: its beginning and its end.
 */
#ifndef MARK_BPF_H
#define MARK_BPF_H

#include "region.bpf.h"

/* --- on one stack ---------------------------------------------------------------------------- */

/* Returns how many marks' instances are open within the open instance of `mark`; -1: `mark` has no
 * open instance in the innermost function. */
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

/* Drops (ends without a record) the `count` innermost instances. (If the loop's condition were at
 * its end, the first instruction would be a jump target, which Linux 6.1 refuses.) */
static __always_inline void drop_some(struct region_thread *thread, int count, __u64 now, __u64 cpu)
{
	for (int i = 0; i < REGION_DEPTH; i++) {
		__u32 at = innermost_at(thread);

		if (!at || i >= count)
			break;
		end_left(thread, at - 1, now, cpu);
	}
}

/* --- on several stacks ----------------------------------------------------------------------- */

/* For threads with tangled instances (abandoned.bpf.h), which are not in the order in which they
 * were entered. settle() has found out which of them are on another stack than the thread. */
struct mark_search {
	struct region_thread *thread;
	__u32 mark;
	__u32 found;	   /* the index of the mark's instance, plus 1; 0: none */
	__u64 found_ns;	   /* time at which that instance began */
	__u64 function_ns; /* time at which the innermost function was entered */
	__u64 now, cpu;
};

/* Returns the open instance with this index; NULL: it is not open, or not on the thread's present
 * stack. */
static __always_inline struct open_instance *open_here(struct region_thread *thread, __u32 index)
{
	struct open_instance *open = &thread->open[BOUNDED(index, REGION_DEPTH)];

	return index < thread->count && open->region && !open->seen_ns ? open : NULL;
}

static long look_for_mark(__u32 index, struct mark_search *m)
{
	struct region_thread *thread = CHECKED(m->thread);
	const struct open_instance *open;

	if (!thread || index >= REGION_DEPTH)
		return 1;
	open = open_here(thread, index);
	if (!open)
		return 0;
	if (!is_mark(open->region)) {
		if (open->enter_ns > m->function_ns)
			m->function_ns = open->enter_ns;
	} else if (open->region == m->mark && open->enter_ns > m->found_ns) {
		m->found = index + 1;
		m->found_ns = open->enter_ns;
	}
	return 0;
}

static long drop_mark_within(__u32 index, struct mark_search *m)
{
	struct region_thread *thread = CHECKED(m->thread);
	const struct open_instance *open;

	if (!thread || index >= REGION_DEPTH)
		return 1;
	open = open_here(thread, index);
	if (open && is_mark(open->region) && open->enter_ns > m->found_ns)
		end_left(thread, index, m->now, m->cpu);
	return 0;
}

/* Drops the marks' instances within the open instance of `mark`. Returns the index of that
 * instance, plus 1; 0: `mark` has no open instance in the innermost function of this stack. A
 * global function, so that the BPF verifier checks it once. */
__noinline __u32 find_mark_here(struct region_thread *given, __u32 mark, __u64 now, __u64 cpu)
{
	struct mark_search m = {.mark = mark, .now = now, .cpu = cpu};

	m.thread = CHECKED(given);
	if (!m.thread)
		return 0;
	bpf_loop(REGION_DEPTH, look_for_mark, &m, 0);
	if (m.found_ns <= m.function_ns)
		return 0;
	bpf_loop(REGION_DEPTH, drop_mark_within, &m, 0);
	return m.found <= REGION_DEPTH ? m.found : 0;
}

/* --- hits ------------------------------------------------------------------------------------- */

/* Drops the marks' instances within the open instance of `mark`. Returns the index of that
 * instance, plus 1; 0: `mark` has no open instance in the innermost function. */
static __always_inline __u32 find_mark(struct region_thread *thread, __u32 mark, __u64 now,
				       __u64 cpu)
{
	int within;

	if (RARELY(thread->is_tangled))
		return find_mark_here(thread, mark, now, cpu);
	within = marks_within(thread, mark);
	drop_some(thread, within, now, cpu);
	return within < 0 ? 0 : thread->count;
}

/* Ends a mark's open instance, which is then in thread->ended, and drops the marks' instances
 * within it. Returns false if there is nothing to report: the mark has no open instance, or this
 * location does not end it. */
static __always_inline bool end_mark(struct region_thread *thread, struct task_struct *task,
				     struct pt_regs *ctx, __u64 cookie, __u64 now, __u64 cpu)
{
	__u32 at = find_mark(thread, STACKD_REGION_NUMBER(cookie), now, cpu);

	if (!at)
		return false;
	if (!(cookie & STACKD_MARK_ENDS)) {
		end_left(thread, at - 1, now, cpu);
		return false;
	}
	end_instance(thread, at - 1, now, cpu);
	readings_end(task, at - 1);
	count_region(STACKD_REGION_ENDED);
	/* The walk begins at the hit. */
	thread->ended.function = PT_REGS_IP(ctx);
	thread->ended.slot = PT_REGS_SP(ctx);
	return true;
}

/* Begins an instance of a mark. It begins at the time of the hit, not after the probe's work, so
 * that iterations add up to their loop's time. */
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
	open = begin_instance(thread, task, STACKD_REGION_NUMBER(cookie), slot, 0, PT_REGS_IP(ctx),
			      cookie);
	if (!open)
		return;
	open->around = region;
	open->stack = PT_REGS_SP(ctx);
	open->enter_ns = now;
	open->enter_cpu = cpu;
}

/* Ends the functions' instances that were left, and finds out which instances are on this stack. (A
 * mark's instance has no slot of its own that would show a change to another coroutine.) */
static __always_inline void find_hit(struct region_thread *thread, __u64 stack_pointer,
				     __u64 cookie)
{
	/* If another function is called at a function's slot, that function has been left. */
	__u64 threshold = stack_pointer + (cookie & STACKD_MARK_ENTRY ? 1 : 0);

	if (RARELY(is_elsewhere(thread, stack_pointer)))
		settle(thread, stack_pointer, threshold, 0, 0);
	else
		drop_left(thread, stack_pointer, threshold, 0, 0);
}

/* Ends and begins instances at a hit. Returns whether an instance has ended, which is then in
 * thread->ended. This is a function, so that its stack is not part of that of the walk, which takes
 * most of the space. */
static __noinline bool take_hit(struct region_thread *thread, struct task_struct *task,
				struct pt_regs *ctx, __u64 cookie)
{
	__u64 now = bpf_ktime_get_ns(), cpu = cpu_clock(task);
	bool has_ended;

	has_ended = end_mark(thread, task, ctx, cookie, now, cpu);
	if (cookie & STACKD_MARK_BEGINS)
		begin_mark(thread, task, ctx, cookie, now, cpu);
	return has_ended;
}

SEC("uprobe")
int stackd_region_mark(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(ctx);
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
	BUSY(thread, 1); /* before the time is read, so that no sample takes the thread's times
			  * in between */
	find_hit(thread, PT_REGS_SP(ctx), cookie);
	has_ended = take_hit(thread, task, ctx, cookie);
	BUSY(thread, 0);
	if (has_ended) {
		report_instance(thread, ctx, task);
		readings_begin_again(thread, task);
	}
	return 0;
}

#endif
