/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of MPI that libstackmpi counts (stackd_calls.h). The library knows the path of nearly every
 * call, by the words of the stack. For a call whose path it does not know, it calls a function with
 * a probe, and this program walks the stack as it was at the call, sends the call with its path,
 * and writes the words that the walk has read into the thread's table: those that prefix.bpf.h
 * remembers, from the leaf to the root. Of a stack that is not remembered whole (it is too deep,
 * incomplete, has managed frames, or the ring had no room for the record) the table gets nothing,
 * so the next such call comes here, too.
 *
 * The library also needs the CPU time of its thread. stackd_call_switch() gives it the CPU time
 * that the scheduler has counted, and the time, each time that the thread gets a CPU.
 */
#ifndef CALL_BPF_H
#define CALL_BPF_H

#include "region.bpf.h"

/* --- handing back ----------------------------------------------------------------------------- */

/* The words of a path while they are copied to the table. */
struct call_copy {
	struct scratch *s;
	struct stackd_calls *calls;
	__u32 index, first, count, at;
	__u32 end;	  /* where its room ends, in stackd_calls.words */
	__u32 is_refused; /* the path cannot be known by words alone */
};

static __always_inline void copy_word(struct call_copy *c, __u64 slot, __u64 word)
{
	__u32 at = c->first + c->count;
	struct stackd_call_word *to = &c->calls->words[BOUNDED(at, STACKD_CALL_WORDS)];

	if (at >= STACKD_CALL_WORDS || at >= c->end) {
		c->is_refused = 1;
		return;
	}
	to->slot = slot;
	to->word = word;
	c->count++;
}

/* Copies the words of a guard: the register from which a CFA comes, where it was saved, and the
 * word from which a CFA was read. The only register that may still be live at the call is the frame
 * pointer. */
static __always_inline void copy_guard(struct call_copy *c, const struct guard *guard)
{
	struct stackd_call_path *path = &c->calls->paths[BOUNDED(c->index, STACKD_CALL_PATHS)];

	if (guard->reg && guard->reg_slot) {
		copy_word(c, guard->reg_slot, guard->reg_word);
	} else if (guard->reg == STACKD_REG_FP) {
		path->has_fp = 1;
		path->fp = guard->reg_word;
	} else if (guard->reg) {
		c->is_refused = 1;
	}
	if (guard->word_slot)
		copy_word(c, guard->word_slot, guard->word);
}

/* Copies the words of the next mark, from the leaf on. Returns 1 to end the loop. */
static long copy_mark(__u32 turn, struct call_copy *c)
{
	struct thread_state *state = state_at(c->s);
	struct mark *mark;
	__u64 slot;

	(void)turn;
	if (!state || !c->at || c->is_refused)
		return 1;
	c->at--;
	mark = &state->marks[BOUNDED(c->at, MAX_MARKS)];
	slot = mark->slot & ~MARK_FLAGS;
	if (mark->slot & MARK_MANAGED)
		c->is_refused = 1;
	if (slot)
		copy_word(c, slot, mark->ra);
	if (mark->slot & MARK_PLAIN)
		copy_word(c, slot - 8, plain_fp(state, c->at));
	if (mark->slot & MARK_GUARDED)
		copy_guard(c, &state->guards[BOUNDED(c->at, MAX_MARKS)]);
	return 0;
}

/* A path that is walked again, in a new generation, gets the room that it had. */
static __always_inline void take_room(struct call_copy *c, const struct stackd_call_path *path)
{
	__u32 first = path->first, count = path->count;

	c->first = c->calls->n_words;
	c->end = STACKD_CALL_WORDS;
	if (count && first < STACKD_CALL_WORDS && count <= STACKD_CALL_WORDS) {
		c->first = first;
		c->end = first + count;
	}
}

/* Writes the words of a walk that was sent, and is remembered, to the table. A global function, so
 * that the BPF verifier checks it once. */
__noinline int call_hand_back(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct call_copy c = {.s = s};
	struct stackd_call_path *path;
	struct thread_state *state;

	if (!s)
		return 0;
	state = state_at(s);
	c.calls = calls_of(bpf_get_current_task_btf());
	c.index = STACKD_CALL_INDEX_OF(s->record.event.call.path);
	if (!state || !c.calls || c.index >= STACKD_CALL_PATHS ||
	    prefix_mode != STACKD_PREFIX_VERIFIED || state->count >= MAX_MARKS ||
	    state->n_touched > TOUCHED_MAPPINGS)
		return 0;
	path = &c.calls->paths[BOUNDED(c.index, STACKD_CALL_PATHS)];
	path->generation = 0;
	path->has_fp = 0;
	c.at = state->count;
	take_room(&c, path);
	if (c.first >= STACKD_CALL_WORDS)
		return 0;
	bpf_loop(MAX_MARKS, copy_mark, &c, 0);
	if (!c.is_refused && state->zero)
		copy_word(&c, state->zero, 0);
	if (c.is_refused) {
		path->count = 0; /* of its room; the next walk takes another */
		return 0;
	}
	path->first = c.first;
	path->count = c.count;
	if (c.calls->n_words < c.first + c.count)
		c.calls->n_words = c.first + c.count;
	path->generation = c.calls->generation;
	return 0;
}

/* --- the probe -------------------------------------------------------------------------------- */

/* Gives the thread its table. A table that another thread has is left to that. */
static __always_inline void begin_calls(struct call_thread *thread, struct task_struct *task)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct stackd_calls *calls;

	thread->table = thread->probe.table + 1;
	calls = calls_of(task);
	if (!calls || calls->tid) {
		thread->table = 0;
		return;
	}
	calls->pid = pid_tgid >> 32;
	calls->tid = (__u32)pid_tgid;
	calls->base_cpu = cpu_clock(task);
	calls->base_ns = bpf_ktime_get_ns();
}

static __always_inline void fill_call(struct scratch *s, const struct call_thread *thread,
				      struct pt_regs *ctx)
{
	const struct stackd_call_probe *probe = &thread->probe;

	fill_at_probe(&s->record, ctx, probe->function, probe->slot);
#define X(name, number) s->record.regs.r[number] = probe->kept[CALL_KEPT_##name];
	STACKD_SAVED_REGS(X)
#undef X
	s->is_at_entry = 1;
	s->record.event.call = (struct stackd_call){.kind = STACKD_EVENT_CALL,
						    .wall_ns = probe->wall_ns,
						    .cpu_ns = probe->cpu_ns,
						    .table = thread->table - 1,
						    .path = probe->path,
						    .visits = probe->visits,
						    .sent = probe->sent,
						    .received = probe->received,
						    .ended_ns = probe->ended_ns};
}

/* Notes the walk that was sent last for a path that the library has not taken: until that record is
 * read, the daemon has the path of an earlier call, or none. */
static __always_inline void note_walk(struct stackd_calls *calls, __u32 index, __u64 time_ns)
{
	if (index < STACKD_CALL_PATHS && index >= calls->n_paths)
		calls->paths[BOUNDED(index, STACKD_CALL_PATHS)].walked_ns = time_ns;
}

/* Walks the stack, and sends the call. Returns the record's time; 0: it was not sent. */
static __always_inline __u64 send_call_record(struct scratch *s, struct task_struct *task)
{
	__u64 sent_ns;

	s->at_breakpoint = s->call_bytes = 0;
	s->is_sent = 0;
	if (walk_here && !(s->record.header.flags & STACKD_COMPAT)) {
		walk_and_send(s, WALK_FOR_CALL, NULL, task);
	} else {
		s->copy_limit = stack_limit;
		send_stack(s, WALK_FOR_CALL, NULL);
	}
	sent_ns = s->is_sent ? s->record.header.time_ns : 0;
	give_scratch_back(s);
	return sent_ns;
}

SEC("uprobe")
int stackd_call(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stackd_calls *calls;
	struct call_thread *thread;
	struct scratch *s;
	__u64 sent_ns;

	if (!is_measured(task, bpf_get_current_pid_tgid() >> 32))
		return 0;
	thread = CHECKED(
		bpf_task_storage_get(&call_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE));
	if (!thread) {
		count_region(STACKD_REGION_NO_MEMORY);
		return 0;
	}
	if (bpf_probe_read_user(&thread->probe, sizeof(thread->probe),
				(const void *)PT_REGS_PARM1(ctx)))
		return 0;
	if (thread->probe.kind == STACKD_CALL_BEGIN) {
		begin_calls(thread, task);
		return 0;
	}
	calls = calls_of(task);
	if (!calls)
		return 0;
	count_region(STACKD_REGION_ENDED);
	s = take_scratch(bpf_get_smp_processor_id());
	if (!s) {
		count_region(STACKD_REGION_LOST_RING);
		return 0;
	}
	fill_call(s, thread, ctx);
	sent_ns = send_call_record(s, task);
	if (sent_ns)
		note_walk(calls, STACKD_CALL_INDEX_OF(thread->probe.path), sent_ns);
	else
		count_region(STACKD_REGION_LOST_RING);
	return 0;
}

/* --- CPU time --------------------------------------------------------------------------------- */

/* When a thread that ends gives up its CPU, that is its last switch: its call, if it is in one,
 * lasted until then. */
static __always_inline void end_calls(struct task_struct *before)
{
	struct stackd_calls *calls;

	if (!(before->flags & PF_EXITING) || !before->bpf_storage)
		return;
	calls = calls_of(before);
	if (!calls)
		return;
	calls->base_cpu = before->se.sum_exec_runtime;
	calls->base_ns = bpf_ktime_get_ns();
}

SEC("tp_btf/sched_switch")
int stackd_call_switch(__u64 *ctx)
{
	struct task_struct *after = (struct task_struct *)ctx[2];
	struct stackd_calls *calls;

	end_calls((struct task_struct *)ctx[1]);
	if (!after->bpf_storage)
		return 0;
	calls = calls_of(after);
	if (!calls)
		return 0;
	calls->base_cpu = after->se.sum_exec_runtime;
	calls->base_ns = bpf_ktime_get_ns();
	calls->switches++;
	return 0;
}

#endif
