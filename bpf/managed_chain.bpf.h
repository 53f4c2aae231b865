/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sends the managed frames of a thread whose stack the daemon will walk.
 *
 * The kernel half leaves a stack to the daemon if it lacks a rule: a file's table is not loaded
 * yet, or code was made at run time. Native frames can be found later, in the copy of the stack.
 * But managed frames lie in the heap, which will have changed by then. So they are read here,
 * without a native walk: from the thread's state through all activations, in a CHAIN record
 * (stackd_managed.h). With the frames of each activation comes the address, in its native frame,
 * that leads to them; by that the daemon assigns them to their activation
 * (daemon/recorder/managed_chain.h).
 *
 * This is possible once a walk of the process has met an activation, since it has noted the
 * interpreter's file and address. A thread that runs in several interpreters has the frames of one.
 */
#ifndef MANAGED_CHAIN_BPF_H
#define MANAGED_CHAIN_BPF_H

#include "managed.bpf.h"

/* Appends a word. Returns whether there was room. */
static __always_inline bool chain_put(struct scratch *s, __u64 word)
{
	__u32 n = s->chain.record.n;

	if (n >= STACKD_CHAIN_WORDS)
		return false;
	s->chain.words[BOUNDED(n, STACKD_CHAIN_WORDS)] = word;
	s->chain.record.n = n + 1;
	return true;
}

/* Ends the frames of an activation, and moves to the activation before, whose last frame is given.
 * Returns whether there is one. With cframes, that activation's must lead to the same frame. */
static __always_inline bool chain_leave(struct scratch *s, __u64 owned, __u64 before)
{
	bool has_cframe = s->managed.is.form != STACKD_INTERPRETER_OWNER;
	__u64 anchor = has_cframe ? s->managed.cframe : owned;

	s->managed.frame = before;
	if (has_cframe && !managed_arrives(s))
		return false;
	if (!chain_put(s, anchor | STACKD_CHAIN_END) || !before)
		return false;
	return !has_cframe ||
	       managed_stack_word(s, s->managed.cframe + s->managed.is.cframe_previous,
				  &s->managed.previous);
}

/* Takes the next frame of an activation. Returns 1 to end the loop. A global function, so that the
 * BPF verifier checks it once. */
__noinline int chain_take(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 frame, code, instruction, previous;
	__u32 end, number;

	if (!s || (s->managed.new_code && !managed_send_code(s)))
		return 1;
	frame = s->managed.frame;
	if (!frame || !managed_read_frame(s, frame))
		return 1;
	end = managed_frame_end(s);
	previous = managed_frame_word(s, s->managed.is.frame_previous);
	if (s->managed.is.form != STACKD_INTERPRETER_CFRAME_ENTRY && end == MANAGED_OWNED_BY_C)
		return !chain_leave(s, frame, previous);
	code = managed_frame_code(s);
	instruction = managed_frame_word(s, s->managed.is.frame_instruction) - code -
		      s->managed.is.code_start;
	number = managed_number(s, state_at(s), code);
	if (!number)
		return !s->managed.new_code; /* the next turn sends it, and comes back */
	if ((__s64)instruction < -2 || (__s64)instruction >> 1 >= STACKD_MANAGED_MASK)
		return 1;
	if (!chain_put(s, (__u64)number << STACKD_MANAGED_SHIFT |
				  ((__s64)instruction >> 1 & STACKD_MANAGED_MASK)))
		return 1;
	s->managed.frame = previous;
	if (s->managed.is.form == STACKD_INTERPRETER_CFRAME_ENTRY && end)
		return !chain_leave(s, 0, previous);
	return 0;
}

/* Takes the next frame of the thread, if each activation has one. Returns as chain_take(). */
__noinline int chain_take_object(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u32 number = 0;
	__s32 index = 0;

	if (!s || !managed_next_object(s, &index, &number) || !number)
		return 1;
	if (!chain_put(s, (__u64)number << STACKD_MANAGED_SHIFT | (index & STACKD_MANAGED_MASK)))
		return 1;
	return !s->managed.frame && chain_put(s, STACKD_CHAIN_END);
}

static long chain_add(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	long ends;

	(void)turn;
	if (s->managed.is.form == STACKD_INTERPRETER_OBJECT)
		ends = chain_take_object(s);
	else
		ends = chain_take(s);
	FORGET(ends);
	return ends ? 1 : 0;
}

/* Finds the thread's last activation, by what a walk of the process has noted. */
static __always_inline bool chain_begin(struct scratch *s)
{
	__u64 space = s->space;
	const struct managed_home *home;

	home = CHECKED(bpf_map_lookup_elem(&managed_homes, &space));
	if (!home || !managed_take_facts(s, home->file))
		return false;
	s->managed.is_for_daemon = 1;
	s->managed.base = home->base;
	s->managed.low = s->record.regs.r[STACKD_REG_SP];
	s->managed.new_code = 0;
	s->managed.sent = 0;
	if (!managed_find_thread(s))
		return false;
	if (managed_is_versioned(s))
		managed_begin_counter(s);
	return s->managed.is.form >= STACKD_INTERPRETER_OWNER ||
	       (managed_stack_word(s, s->managed.cframe + s->managed.is.cframe_frame,
				   &s->managed.frame) &&
		managed_stack_word(s, s->managed.cframe + s->managed.is.cframe_previous,
				   &s->managed.previous));
}

/* Sends the managed frames of the thread, if there are any. A global function, so that the BPF
 * verifier checks it once. */
__noinline int managed_send_chain(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u32 bytes;

	if (!s || !chain_begin(s))
		return 0;
	s->chain.record.header = s->record.header;
	s->chain.record.header.kind = STACKD_RECORD_CHAIN;
	s->chain.record.header.n_kernel = 0;
	s->chain.record.pid = s->record.pid;
	s->chain.record.n = 0;
	chain_put(s, s->managed.file);
	bpf_loop(2 * STACKD_CHAIN_WORDS, chain_add, &s, 0);
	bytes = s->chain.record.n;
	if (bytes < 2)
		return 0;
	FORGET(bytes);
	if (bytes > STACKD_CHAIN_WORDS)
		return 0;
	bytes = sizeof(s->chain.record) + bytes * sizeof(s->chain.words[0]);
	bpf_ringbuf_output(&ring, &s->chain, bytes, BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
