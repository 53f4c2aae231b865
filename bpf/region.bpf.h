/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Regions: measures each pass through chosen functions (an instance), from its entry to its return.
 *
 *   entry          uprobe ──► open instance: slot of the return address, time, CPU time
 *   returns and    uprobe ──► walk of the stack ──► record, with the instance's fields
 *   tail calls
 *
 * The stack is walked at the end, since only then it is certain that there is an instance to
 * record. At that point the callee-saved registers have their values of the entry again, so the
 * walk can begin as if the thread were at the entry, and its leaf is the function.
 *
 * Each thread has a stack of its open instances, keyed by the slot of the return address. An
 * instance that was left by longjmp() or an exception never reaches an exit. It is found by its
 * slot (abandoned.bpf.h): on one stack, no function whose slot is below the stack pointer is still
 * running, and a function that is entered at the same slot was called again. An instruction is an
 * exit only if the stack pointer is at the slot; else it is a jump within a function that has a
 * frame. If a function of MPI ends with a jump to another function of MPI, that is no exit; its
 * instance continues until the other function is left.
 *
 * These BPF programs run in the measured thread. The sampler can interrupt them, and the same
 * programs in other threads can preempt them. So each walk takes one of a CPU's scratch areas for
 * regions (the sampler has a separate one), and takes the thread's remembered stack as usual
 * (prefix.bpf.h). If no area is free, the record has only the function, which is counted. The time
 * is read again once the remembered stack is locked, since the daemon sorts records by it, and each
 * record refers to the frames of the one before.
 */
#ifndef REGION_BPF_H
#define REGION_BPF_H

#include "instance.bpf.h"
#include "abandoned.bpf.h"
#include "unwalked.bpf.h"
#include "tracked_pids.bpf.h"
#include "mpi.bpf.h"
#include "reading.bpf.h"
#include "region_scratch.bpf.h"
#include "scratch.bpf.h"

SETTING __u32 region_scope = STACKD_SCOPE_ALL;

SETTING __u64 region_limit = 20000; /* limit of the instances of a thread in a second; 0: no
				     * limit */

/* The daemon makes the links of a file's regions again, so a probe may run its program twice. A
 * second run at an exit does nothing, since the instance has ended. Set by the daemon. */
__u32 regions_linked_twice = 0;

#define SECOND_RUN_NS 1000000u

/* The cgroup, with STACKD_SCOPE_CGROUP. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} region_cgroup SEC(".maps");

/* --- scope ------------------------------------------------------------------------------------ */

static __always_inline bool in_scope(struct task_struct *task, __u32 pid)
{
	if (region_scope == STACKD_SCOPE_PROCESSES)
		return is_member(task, pid);
	if (region_scope == STACKD_SCOPE_CGROUP)
		return bpf_current_task_under_cgroup(&region_cgroup, 0) == 1;
	return true;
}

/* Like in_scope(), but false for stackd's child before it executes the command. */
static __always_inline bool is_measured(struct task_struct *task, __u32 pid)
{
	return pid != held_pid && in_scope(task, pid);
}

/* --- instances -------------------------------------------------------------------------------- */

static __always_inline bool is_off(__u32 region)
{
	__u32 *off = CHECKED(bpf_map_lookup_elem(&regions_off, &region));

	return off && *off;
}

/* Counts an entry of a region. Returns whether it is not to be measured: a region that is entered
 * too often would slow the program down too much, so it is turned off. For a region on trial,
 * entries are only counted, and it returns true. */
static __always_inline bool is_too_often(struct region_thread *thread, __u32 region)
{
	struct region_rate *rate = &thread->rates[BOUNDED(region, REGION_RATES)];
	__u32 *off = CHECKED(bpf_map_lookup_elem(&regions_off, &region));
	__u64 now = bpf_ktime_get_ns(), state = off ? *off : STACKD_REGION_IS_MEASURED;
	bool is_on_trial = state > STACKD_REGION_IS_GONE;
	__u64 span = is_on_trial ? STACKD_REGION_TRIAL_NS : REGION_SECOND;
	__u64 limit = is_on_trial ? state : region_limit;

	if (state == STACKD_REGION_IS_OFF || state == STACKD_REGION_IS_GONE)
		return true;
	if (RARELY(state == STACKD_REGION_IS_MEASURED) && off)
		*off = STACKD_REGION_IS_ENTERED;
	/* If several regions have the same entry of the table, the one that is entered most often
	 * gets it. */
	if (rate->region != region && rate->count && now - rate->start_ns <= span) {
		rate->count--;
		return is_on_trial;
	}
	if (rate->region != region || now - rate->start_ns > span) {
		rate->region = region;
		rate->start_ns = now;
		rate->count = 0;
	}
	if (!limit || ++rate->count <= limit || !off)
		return is_on_trial;
	*off = STACKD_REGION_IS_OFF;
	return true;
}

/* Opens an instance within the open ones. `cookie` is the probe's, `address` that of its
 * instruction. Returns the instance; NULL: it is not measured. */
static __always_inline struct open_instance *begin_instance(struct region_thread *thread,
							    struct task_struct *task, __u32 region,
							    __u64 slot, __u64 function,
							    __u64 address, __u64 cookie)
{
	struct open_instance *open;
	__u32 index;

	if (is_too_often(thread, region)) {
		count_region(STACKD_REGION_OFF);
		return NULL;
	}
	index = next_entry(thread, region);
	if (index >= REGION_DEPTH) {
		count_region(STACKD_REGION_TOO_DEEP);
		return NULL;
	}
	open = &thread->open[BOUNDED(index, REGION_DEPTH)];
	thread->current = index + 1;
	if (index == thread->count)
		thread->count = index + 1;
	open->slot = slot;
	open->function = function;
	open->region = region;
	open->around = 0;
	open->caller = 0;
	open->mpi = STACKD_MPI_OTHER;
	open->mpi_slot = 0;
	open->goes_on = open->is_file = open->is_once = 0;
	open->status = 0;
	open->sent = open->received = 0;
	open->nested_ns = open->nested_cpu = 0;
	open->told_ns = open->told_cpu = 0;
	open->seen_ns = 0;
	readings_begin(task, index, address, cookie);
	open->enter_cpu = cpu_clock(task);
	open->enter_ns = bpf_ktime_get_ns();
	return open;
}

/* Returns whether `open`, the innermost instance, belongs to the call of a region's function at
 * this slot: it is that call's instance, or a mark's instance within it. */
static __always_inline bool is_around(const struct open_instance *open, __u32 region, __u64 slot)
{
	if (is_mark(open->region))
		return open->around == region && open->slot == slot - 1;
	return open->region == region && open->slot == slot;
}

/* Returns whether this is the second run of the program for one hit of an entry's probe
 * (regions_linked_twice): the first one has just opened the instance. */
static __always_inline bool is_second_run(struct region_thread *thread, __u32 region, __u64 slot)
{
	const struct open_instance *open = innermost(thread);

	return open && open->region == region && open->slot == slot &&
	       bpf_ktime_get_ns() - open->enter_ns < SECOND_RUN_NS;
}

/* Returns whether the function of MPI that is entered at this slot was reached by a jump from the
 * innermost one. */
static __always_inline bool goes_on(const struct region_thread *thread,
				    const struct open_instance *open, __u64 slot, __u64 cookie)
{
	return open && (cookie & STACKD_ENTRY_ONCE) && thread->once == innermost_at(thread) &&
	       open->goes_on && open->slot == slot;
}

/* Handles the entry of a region's function. The probe may be some instructions after the entry
 * (daemon/regions/probe_move.h). */
static __always_inline void enter_region(struct region_thread *thread, struct task_struct *task,
					 struct pt_regs *ctx, __u64 cookie)
{
	__u32 region = STACKD_REGION_NUMBER(cookie);
	__u64 slot = PT_REGS_SP(ctx) + 8 * STACKD_ENTRY_FRAME(cookie);
	__u64 function = PT_REGS_IP(ctx) - STACKD_ENTRY_AFTER(cookie);
	struct open_instance *open;
	bool is_part = false;

	if (RARELY(regions_linked_twice) && is_second_run(thread, region, slot))
		return;
	if (cookie & (STACKD_ENTRY_LOOP | STACKD_ENTRY_ONCE)) {
		/* If the thread is on another stack than that of a suspended call of MPI, a call
		 * here is not a part of the suspended call. */
		if (RARELY(thread->once && is_elsewhere(thread, slot)))
			settle(thread, slot, slot - 1, 0, 0);
		else
			drop_left(thread, slot, slot - 1, 0, 0);
		open = innermost(thread);
		if (open && (cookie & STACKD_ENTRY_LOOP) && is_around(open, region, slot))
			return;
		is_part = goes_on(thread, open, slot, cookie);
	}
	if (!is_part)
		drop_left(thread, slot, slot + 1, 0, 0);
	/* A call of MPI within a call of MPI has no instance: Fortran's functions call C's, and
	 * those for files send messages. */
	if ((cookie & STACKD_ENTRY_ONCE) && thread->once) {
		open = &thread->open[BOUNDED(thread->once - 1, REGION_DEPTH)];
		if (open->mpi == STACKD_MPI_WITHIN)
			mpi_enter(thread, open, ctx, function, region);
		return;
	}
	open = begin_instance(thread, task, region, slot, function, function, cookie);
	if (!open)
		return;
	bpf_probe_read_user(&open->caller, sizeof(open->caller), (const void *)slot);
	if (!(cookie & STACKD_ENTRY_ONCE))
		return;
	open->is_once = 1;
	thread->once = thread->current;
	mpi_enter(thread, open, ctx, function, region);
}

/* Returns whether a call of MPI is a part of one that libstackmpi counts. If the library counts
 * none of the thread's calls, although the function is one of those that it has (MPI_Init()),
 * counts that. */
static __always_inline bool is_library_call(struct task_struct *task)
{
	const struct stackd_calls *calls = calls_of(task);

	if (!calls)
		count_region(STACKD_REGION_CALLS_UNHEARD);
	return calls && calls->inside;
}

SEC("uprobe")
int stackd_region_enter(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct region_thread *thread;

	if (!is_measured(task, bpf_get_current_pid_tgid() >> 32))
		return 0;
	if (with_calls && (bpf_get_attach_cookie(ctx) & STACKD_ENTRY_ONCE) && is_library_call(task))
		return 0;
	thread = CHECKED(
		bpf_task_storage_get(&region_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE));
	if (!thread) {
		count_region(STACKD_REGION_NO_MEMORY);
		return 0;
	}
	BUSY(thread, 1);
	enter_region(thread, task, ctx, bpf_get_attach_cookie(ctx));
	BUSY(thread, 0);
	return 0;
}

/* --- records ---------------------------------------------------------------------------------- */

static __always_inline void fill_at_probe(struct stackd_stack_record *record, struct pt_regs *ctx,
					  __u64 function, __u64 slot)
{
	struct stackd_header *header = &record->header;
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	__builtin_memset(record, 0, __builtin_offsetof(struct stackd_stack_record, regs));
	header->version = STACKD_ABI_VERSION;
	header->time_ns = bpf_ktime_get_ns();
	header->tid = pid_tgid;
	header->cpu = bpf_get_smp_processor_id();
	header->flags = STACKD_HAS_REGS | (ARCH_IS_32BIT(ctx) ? STACKD_COMPAT : 0);
	record->pid = pid_tgid >> 32;
	record->period = usual_period;
	record->cgroup = bpf_get_current_cgroup_id();
	arch_take_regs(&record->regs, ctx);
	record->regs.r[STACKD_REG_PC] = function;
	record->regs.r[STACKD_REG_SP] = slot;
}

/* Walks the stack for a filled record, sends the record, and gives the scratch area back. Returns
 * 0; or, if the ring buffer had no room, the record's time, and the caller has to count the
 * loss. */
static __always_inline __u64 send_at_probe(struct scratch *s, struct task_struct *task)
{
	__u64 unsent;

	s->at_breakpoint = s->call_bytes = 0;
	s->is_sent = 0;
	if (walk_here && !(s->record.header.flags & STACKD_COMPAT)) {
		walk_and_send(s, WALK_FOR_PROBE, NULL, task);
	} else {
		send_reading(s);
		s->copy_limit = stack_limit;
		send_stack(s, WALK_FOR_PROBE, NULL);
	}
	unsent = s->is_sent ? 0 : s->record.header.time_ns;
	give_scratch_back(s);
	return unsent;
}

/* Sends an instance with only its function and caller. `time_ns` is the time of the readings that
 * were sent before and belong to it. */
static __always_inline void send_alone(struct region_thread *thread, __u64 time_ns)
{
	fill_unwalked(&thread->unwalked, bpf_get_current_pid_tgid(), time_ns, &thread->event,
		      thread->ended.function, thread->ended.caller, STACKD_END_STACK_CUT);
	count_region(STACKD_REGION_NO_SCRATCH);
	send_unwalked(&thread->unwalked);
}

/* Handles the return of a function of MPI, which may have been called within the open call. */
static __always_inline void leave_mpi(struct region_thread *thread, __u64 slot)
{
	struct open_instance *open;

	if (!thread->once)
		return;
	open = &thread->open[BOUNDED(thread->once - 1, REGION_DEPTH)];
	if (open->mpi_slot == slot)
		mpi_leave(open);
}

/* Returns whether the thread stays in the function, because the exit is a branch that is not
 * taken. */
static __always_inline bool stays_inside(const struct pt_regs *ctx, __u32 kind)
{
	return (kind & STACKD_EXIT_BRANCH) && !arch_holds_condition(ctx, kind);
}

/* Returns whether an exit leads to the caller, rather than to another function. */
static __always_inline bool leads_to_caller(__u32 kind)
{
	return (kind & STACKD_EXIT_EPILOGUE) || !(kind & (STACKD_EXIT_JUMP | STACKD_EXIT_BRANCH));
}

/* Counts a return without an instance, of a function that was running before the probes were
 * attached. Does not count functions of MPI, since those that are called by other functions of MPI
 * return without an instance, too. */
static __always_inline void count_unmatched(__u64 cookie)
{
	__u32 kind = STACKD_EXIT_KIND(cookie);

	if (leads_to_caller(kind) && !(kind & STACKD_EXIT_ONCE) &&
	    !is_off(STACKD_REGION_NUMBER(cookie)))
		count_region(STACKD_REGION_UNMATCHED);
}

/* Returns whether the function that is left here ends the innermost instance, which has the
 * function's slot. It does if the instance is the function's, or that of a function of MPI that has
 * jumped to it. */
static __always_inline bool is_left(const struct region_thread *thread,
				    const struct open_instance *open, __u64 cookie)
{
	return open->region == STACKD_REGION_NUMBER(cookie) ||
	       ((STACKD_EXIT_KIND(cookie) & STACKD_EXIT_ONCE) && open->goes_on &&
		thread->once == innermost_at(thread));
}

/* Ends the instance that the function's exit ends, which is then in thread->ended. Returns false if
 * none ends. */
static __noinline bool leave_region(struct region_thread *thread, struct task_struct *task,
				    struct pt_regs *ctx, __u64 now, __u64 cpu)
{
	__u64 cookie = bpf_get_attach_cookie(ctx),
	      slot = PT_REGS_SP(ctx) + 8 * STACKD_EXIT_FRAME(cookie);
	__u32 kind = STACKD_EXIT_KIND(cookie);
	struct open_instance *open;
	__u32 index;

	if (stays_inside(ctx, kind))
		return false;
	drop_left(thread, slot, slot, now, cpu);
	if ((kind & STACKD_EXIT_ONCE) && leads_to_caller(kind))
		leave_mpi(thread, slot);
	open = innermost(thread);
	if (!open || open->slot != slot || !is_left(thread, open, cookie)) {
		/* If the region is recursive, the inner call may not have been measured. */
		if (!open || open->region != STACKD_REGION_NUMBER(cookie))
			count_unmatched(cookie);
		return false;
	}
	index = innermost_at(thread) - 1;
	end_instance(thread, index, now, cpu);
	readings_end(task, index);
	count_region(STACKD_REGION_ENDED);
	return true;
}

/* If `saved` says that register `number` was saved, reads it from the next word below `at`, and
 * moves `at` there. */
static __always_inline void restore(struct stackd_regs *regs, __u32 reg, __u32 saved, __u32 number,
				    __u64 *at)
{
	if (!(saved >> number & 1))
		return;
	*at -= 8;
	bpf_probe_read_user(&regs->r[reg], sizeof(regs->r[reg]), (const void *)*at);
}

/* At an exit with STACKD_EXIT_EPILOGUE, restores the registers that the function has saved and not
 * restored yet. */
static __always_inline void restore_saved(struct stackd_regs *regs, __u64 slot, __u64 cookie)
{
	__u32 saved = STACKD_EXIT_SAVED(cookie);

	if (!saved)
		return;
#define X(reg, number) restore(regs, reg, saved, number, &slot);
	ARCH_PUSHED_REGS(X)
#undef X
}

/* Fills in the record of the ended instance. A function's walk begins at its entry, with the
 * registers of the caller; a mark's walk begins at the hit. */
static __always_inline void
fill_ended_instance(struct scratch *s, const struct region_thread *thread, struct pt_regs *ctx)
{
	fill_at_probe(&s->record, ctx, thread->ended.function, thread->ended.slot);
	s->is_at_entry = !is_mark(thread->ended.region);
	if (s->is_at_entry)
		restore_saved(&s->record.regs, thread->ended.slot, bpf_get_attach_cookie(ctx));
	s->record.event = thread->event;
}

/* Walks the stack, and sends the ended instance. Until a file's table is loaded, the record has a
 * copy of the stack. If the ring buffer has no room for that, it may still have room for a record
 * with only the function and caller. */
static __always_inline void report_instance(struct region_thread *thread, struct pt_regs *ctx,
					    struct task_struct *task)
{
	struct scratch *s = take_scratch(bpf_get_smp_processor_id());
	__u64 unsent;

	if (s) {
		fill_ended_instance(s, thread, ctx);
		readings_of_instance(s, task);
		unsent = send_at_probe(s, task);
	} else {
		unsent = bpf_ktime_get_ns();
		if (reading_count && reading_thread_of(task))
			count_region(STACKD_REGION_READINGS_LOST);
	}
	if (unsent)
		send_alone(thread, unsent);
	readings_sent(task);
}

SEC("uprobe")
int stackd_region_leave(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct region_thread *thread;
	__u64 now, cpu, cookie;
	bool has_ended;

	thread = CHECKED(bpf_task_storage_get(&region_threads, task, 0, 0));
	if (!thread) {
		cookie = bpf_get_attach_cookie(ctx);
		if (!stays_inside(ctx, STACKD_EXIT_KIND(cookie)) &&
		    is_measured(task, bpf_get_current_pid_tgid() >> 32))
			count_unmatched(cookie);
		return 0;
	}
	BUSY(thread, 1); /* before the time is read, so that no sample takes the thread's times
			  * in between */
	now = bpf_ktime_get_ns();
	cpu = cpu_clock(task);
	has_ended = leave_region(thread, task, ctx, now, cpu);
	BUSY(thread, 0);
	if (has_ended)
		report_instance(thread, ctx, task);
	return 0;
}

#endif
