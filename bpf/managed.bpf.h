/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds the frames of Python's functions to a walk, where it meets the interpreter.
 *
 * CPython's interpreter is one C function. It runs a Python function that another one calls without
 * calling itself, so one native frame of it, an activation, carries a chain of managed frames. An
 * activation has a structure in its C frame, the cframe, that leads to the last of its managed
 * frames and to the activation before:
 *
 *      thread state
 *           |
 *           v              managed frames, in memory of their own
 *   eval [ cframe ] ---> h ---> g ---> f (the activation's first)
 *    ^      |                          |
 *    C      v                          v
 *   eval [ cframe ] -----------------> e ---> d ---> main
 *
 * So nothing is guessed: the frames of an activation are believed only if its cframe lies between
 * the stack pointer and the CFA of the native frame that the walk is at, and if its chain ends, at
 * a frame that is marked as the first, with a link to the last frame of the activation before. What
 * does not hold is shown as one frame that says so.
 *
 * Nothing leads to an activation that was left for another stack: one below the place where a
 * greenlet has begun. But its cframe is at the same distance from its CFA as all others, and is
 * believed under the same conditions (managed_find_cframe()). If there are no cframes, such an
 * activation is not proven, but those before it are (managed_resume()).
 *
 * The innermost activation may not have put its cframe into the chain yet, or not any more: it has
 * no managed frames then, and the walk is not remembered.
 *
 * A thread has a state in each interpreter of the process in which it has run code. An activation's
 * functions belong to the state whose cframe, or whose chain's end, lies in it (managed_switch()).
 *
 * Before 3.11 an activation has one managed frame, an object in the heap, and no cframe. Then each
 * activation gets the next frame of the thread's chain. The end of the walk proves all of these
 * frames, if the chain ends there as well (managed_finish()); nothing proves one of them alone.
 *
 * Walks remember managed frames like others (managed_code.bpf.h), if code objects or functions have
 * versions, or frames are objects, and marks are verified. In records and among marks, the
 * managed frames of an activation come right rootward of its native frame. This is the order of
 * addresses, since a managed frame has the address of its cframe. And a native frame that goes on
 * to another instruction leaves all marks rootward of it as they are.
 */
#ifndef MANAGED_BPF_H
#define MANAGED_BPF_H

#include "deep.bpf.h"
#include "managed_code.bpf.h"
#include "managed_thread.bpf.h"
#include "mapping.bpf.h"
#include "prefix.bpf.h"
#include "scratch.bpf.h"
#include "segment.bpf.h"
#include "stack_window.bpf.h"

#define MANAGED_MOST 16384 /* frames of a walk, so that native ones have room */

/* --- frames ----------------------------------------------------------------------------------- */

/* Puts a frame into the record. */
static __always_inline bool put_managed(struct scratch *s, __u64 number, __u64 instruction)
{
	struct mark *mark = &s->marks[RECENT(s->n_new)];
	__u32 at = s->bytes;
	__u8 *to = &s->walked.bytes[BOUNDED(at, 2 * MAX_FRAMES * 8)];

	if (at > MAX_BYTES - 32 || s->n_new >= s->most)
		return false;
	if (with_heights) {
		PUT_WORD(to, 0);
		to += 4;
		at += 4;
	}
	mark->slot = s->managed.cframe | MARK_MANAGED | MARK_GUARDED;
	mark->ra = number << STACKD_MANAGED_SHIFT | (instruction & STACKD_MANAGED_MASK);
	PUT_WORD(to, STACKD_FRAME_LONG);
	PUT_WORD(to + 4, mark->ra);
	PUT_WORD(to + 8, STACKD_FILE_MANAGED << 16 | mark->ra >> 32);
	s->bytes = at + 12;
	s->n_new++;
	s->walk.frame++;
	return true;
}

/* Returns whether the frame that was read last seems to be a remembered one, by its address, code
 * object and instruction. Its mark is then s->probe - 1, from which on all words will be compared.
 * A global function, so that the BPF verifier checks its loop once. */
__noinline int managed_may_match(struct scratch *given, __u64 frame)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	const struct guard *guard = NULL;
	const struct mark *mark = NULL;
	const __u8 *bytes;
	__u64 cframe;
	__u32 probe;

	if (!state || s->managed.no_match)
		return 0;
	bytes = managed_frame_bytes(s);
	cframe = s->managed.cframe;
	probe = s->probe;
	for (int i = 0; i < 64 && probe; i++) {
		mark = &state->marks[BOUNDED(probe - 1, MAX_MARKS)];
		guard = &state->guards[BOUNDED(probe - 1, MAX_MARKS)];
		if ((mark->slot & ~MARK_FLAGS) > cframe)
			break;
		if ((mark->slot & ~MARK_FLAGS) == cframe &&
		    (guard->reg_slot == frame ||
		     (guard->reg_slot < frame && managed_is_near(s, guard->reg_slot))))
			break;
		probe--;
	}
	s->probe = probe;
	return probe && mark && guard && mark->slot == (cframe | MARK_MANAGED | MARK_GUARDED) &&
	       guard->reg_slot == frame && guard->word_slot >> 32 &&
	       (managed_word_of(bytes, s->managed.is.frame_code) & ~7ull) == guard->reg_word &&
	       (__u32)(managed_word_of(bytes, s->managed.is.frame_instruction) - guard->reg_word) ==
		       (__u32)guard->word_slot;
}

/* Returns the number of the code object of the frame that was read last; 0 as managed_code(). */
static __always_inline __u32 managed_number(struct scratch *s, struct thread_state *state,
					    __u64 code)
{
	__u32 number;

	s->managed.version_at = managed_version_at(s, managed_frame_bytes(s), code);
	number = managed_noted(s, state, code);
	if (number)
		return number;
	managed_trust_words(s);
	number = managed_code(s, code);
	if (number && s->managed.version)
		managed_note_known(s, code, number);
	return number;
}

/* Adds the frame s->managed.frame, which was read last, of the code object with a number, whose
 * version is s->managed.version. Returns as managed_add_next(). */
static __always_inline int managed_add_numbered(struct scratch *s, __u32 number)
{
	const __u8 *bytes = managed_frame_bytes(s);
	__u64 code = managed_word_of(bytes, s->managed.is.frame_code) & ~7ull;
	__u64 instruction = managed_word_of(bytes, s->managed.is.frame_instruction);
	__u32 end = bytes[BOUNDED(s->managed.is.frame_end, MANAGED_FRAME_ROOM)];
	bool is_last = end && s->managed.is.form == STACKD_INTERPRETER_CFRAME_ENTRY;
	struct guard *guard = &s->guards[RECENT(s->n_new)];

	guard->reg_slot = AS_STORED(s->managed.frame);
	guard->reg_word = code;
	guard->word_slot = managed_position(s->managed.version, code, instruction);
	guard->word = s->managed.frame = managed_word_of(bytes, s->managed.is.frame_previous);
	guard->origin = MARK_LIVE;
	guard->reg = STACKD_REG_SP | end << 8 | s->managed.file << 16 |
		     (s->managed.version ? 0 : MANAGED_UNVERSIONED) | (is_last ? MANAGED_LAST : 0);
	instruction -= code + s->managed.is.code_start;
	if ((__s64)instruction < -2 || (__s64)instruction >> 1 >= STACKD_MANAGED_MASK)
		return 1;
	if (s->managed.count >= MANAGED_MOST || !put_managed(s, number, (__s64)instruction >> 1)) {
		s->managed.why = STACKD_COUNT_MANAGED_TOO_MANY;
		return 1;
	}
	s->managed.count++;
	s->managed.is_whole = is_last;
	return is_last;
}

/* Adds the next managed frame of the activation. Returns 1 to end the loop: with
 * s->managed.is_whole, at the activation's first frame; with may_match, before a remembered one.
 * A global function, so that the BPF verifier checks it once. */
__noinline int managed_add_next(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state;
	const __u8 *bytes;
	__u64 frame;
	__u32 number;

	if (!s)
		return 1;
	frame = s->managed.frame;
	if (RARELY(s->managed.new_code) && !managed_send_code(s)) {
		s->managed.why = STACKD_COUNT_MANAGED_NAMELESS;
		return 1;
	}
	if (!frame || (!managed_is_read(s, frame) && !managed_read_frame(s, frame)))
		return 1;
	if (managed_may_match(s, frame)) {
		s->managed.may_match = 1;
		return 1;
	}
	state = state_at(s);
	bytes = managed_frame_bytes(s);
	if (s->managed.is.form != STACKD_INTERPRETER_CFRAME_ENTRY &&
	    bytes[BOUNDED(s->managed.is.frame_end, MANAGED_FRAME_ROOM)] == MANAGED_OWNED_BY_C) {
		s->managed.owned = frame;
		s->managed.frame = managed_word_of(bytes, s->managed.is.frame_previous);
		s->managed.is_whole = 1;
		if (s->n_new > s->managed.frames_before)
			s->guards[RECENT(s->n_new - 1)].reg |= MANAGED_LAST;
		return 1;
	}
	number = managed_number(s, state, managed_word_of(bytes, s->managed.is.frame_code) & ~7ull);
	if (!number && s->managed.new_code)
		return 0; /* the next turn sends it, and comes back */
	if (!number) {
		s->managed.why = STACKD_COUNT_MANAGED_NAMELESS;
		return 1;
	}
	return managed_add_numbered(s, number);
}

/* Returns whether the record has room for a frame, perhaps in another part. */
static __always_inline bool managed_has_room(struct scratch *s)
{
	long ends;

	if (s->bytes <= DEEP_BYTES && s->n_new < s->most)
		return true;
	ends = s->managed.may_part ? deep_go_on(s) : 1;
	FORGET(ends);
	if (ends) {
		s->managed.why = STACKD_COUNT_MANAGED_TOO_MANY;
		return false;
	}
	if (s->n_new == s->managed.frames_before)
		s->managed.bytes_before = s->bytes;
	return true;
}

/* Begins to look for a circle in a chain. */
static __always_inline void managed_begin_chain(struct scratch *s)
{
	s->managed.steps = 0;
	s->managed.compared_with = 0;
	s->managed.compared_until = 1;
}

/* Notes that the chain has gone on to its next frame. Returns whether it has been there, since a
 * process may have made a circle of frames: each is compared with the one at step 1, 2, 4, 8 and so
 * on. */
static __always_inline bool managed_is_circle(struct scratch *s, __u64 frame)
{
	if (s->managed.new_code) /* it is still at the frame before */
		return false;
	if (frame == s->managed.compared_with)
		return true;
	if (++s->managed.steps == s->managed.compared_until) {
		s->managed.compared_with = frame;
		s->managed.compared_until *= 2;
	}
	return false;
}

/* The BPF verifier knows nothing of a global function's result, which a compiler may find to be 0
 * or 1. */
static long managed_add(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	long ends;

	(void)turn;
	if (!managed_has_room(s))
		return 1;
	ends = managed_add_next(s);
	FORGET(ends);
	return ends || managed_is_circle(s, s->managed.frame) ? 1 : 0;
}

/* Moves to the activation before, and returns whether its last frame is the one that the chain of
 * this one has led to. */
static __always_inline bool managed_arrives(struct scratch *s)
{
	__u64 cframe = s->managed.previous, frame;

	if (!cframe || !managed_stack_word(s, cframe + s->managed.is.cframe_frame, &frame))
		return false;
	s->managed.cframe = cframe;
	return frame == s->managed.frame;
}

#define MANAGED_MATCHES 4 /* remembered frames of an activation that are tried */

/* Adds frames up to the activation's first one, or to one from which on everything is unchanged. */
static __always_inline void managed_follow(struct scratch *s, bool may_match)
{
	s->managed.may_part = may_match;
	managed_begin_chain(s);
	s->managed.no_match =
		!may_match || !managed_is_versioned(s) || prefix_mode != STACKD_PREFIX_VERIFIED;
#pragma clang loop unroll(disable)
	for (int i = 0; i < MANAGED_MATCHES; i++) {
		s->managed.is_whole = s->managed.may_match = 0;
		s->managed.owned = 0;
		bpf_loop(2 * MANAGED_MOST, managed_add, &s, 0);
		/* `may_match` says no more, but spares the BPF verifier all other turns. */
		if (!may_match || !s->managed.may_match)
			return;
		if (!s->touched_hold)
			managed_compare_mappings(s);
		if (managed_matches(s)) {
			s->managed.has_matched = 1;
			return;
		}
		if (i >= MANAGED_MATCHES - 2)
			s->managed.no_match = 1;
	}
}

/* Finds the cframe of an activation to which nothing leads, by its distance from the CFA, which is
 * that in the activations of the walk that were proven. Returns whether it is known. A global
 * function, so that its stack is not in use when frames are read. */
__noinline int managed_find_cframe(struct scratch *given, __u64 cfa)
{
	struct scratch *s = CHECKED(given);

	if (!s || s->managed.distance_of != s->record.header.time_ns ||
	    s->managed.distance > cfa - s->managed.low)
		return 0;
	s->managed.cframe = cfa - s->managed.distance;
	s->walk.managed = MANAGED_GOES_ON;
	return 1;
}

/* Adds the frames of the activation with this cframe. Returns whether they are proven. */
static __always_inline bool managed_add_all(struct scratch *s)
{
	__u64 cframe = s->managed.cframe;

	s->managed.own_cframe = cframe;
	if (!managed_stack_word(s, cframe + s->managed.is.cframe_frame, &s->managed.frame) ||
	    !managed_stack_word(s, cframe + s->managed.is.cframe_previous, &s->managed.previous))
		return false;
	managed_follow(s, true);
	if (!s->managed.has_matched && (!s->managed.is_whole || !managed_arrives(s)))
		return false;
	s->managed.why = 0;
	return true;
}

/* Returns whether some of the activation's frames were sent, and cannot be dropped any more. */
static __always_inline bool managed_is_parted(const struct scratch *s)
{
	return s->sent_frames > s->managed.frames_before;
}

/* Drops the activation's frames. */
static __always_inline void managed_drop(struct scratch *s)
{
	s->walk.frame -= s->n_new - s->managed.frames_before;
	s->managed.dropped += s->n_new - s->managed.frames_before;
	s->bytes = s->managed.bytes_before;
	s->n_new = s->managed.frames_before;
}

/* Adds the frames of a chain if there is no cframe. Returns whether it ends at a frame in the
 * activation's native frame, below its CFA; or comes to a remembered frame that does. */
static __always_inline bool managed_add_owned_all(struct scratch *s, __u64 cfa, bool may_match)
{
	s->managed.cframe = cfa - 16;
	managed_follow(s, may_match);
	if (!s->managed.has_matched &&
	    (!s->managed.is_whole || s->managed.owned < s->managed.low || s->managed.owned >= cfa))
		return false;
	s->managed.why = 0;
	return true;
}

/*
 * An activation that is not of the interpreter whose chain the walk follows may be of another one.
 * The thread's states do not lead to each other: the first activation of one has a chain that ends.
 */

/* Notes that the thread runs in several interpreters. */
static __always_inline void managed_note_mixed(struct scratch *s)
{
	struct thread_state *state = state_at(s);

	if (!state || s->managed.is.counter_kind == STACKD_VERSIONS_OF_FILE ||
	    s->managed.is.function_version)
		return; /* all of the process's interpreters count together */
	state->managed_mixed = 1;
	s->managed.is_calm = 0;
}

/* Returns whether the activation that ends at the CFA is of the interpreter with the thread's state
 * that was read: what leads to its frames lies in it. Without a cframe, its frames have then been
 * added. */
static __always_inline bool managed_is_of_state(struct scratch *s, __u64 cfa, bool has_cframe)
{
	if (has_cframe)
		return s->managed.cframe < cfa;
	s->managed.count = s->managed.count_before;
	if (managed_add_owned_all(s, cfa, false))
		return true;
	managed_drop(s);
	return false;
}

/* Looks among the known states of the thread. */
static __always_inline bool managed_try_states(struct scratch *s, __u64 cfa, bool has_cframe)
{
	for (__u32 i = 1; i <= MANAGED_STATES; i++) {
		FORGET(i);
		if (managed_take_state(s, i) && managed_is_of_state(s, cfa, has_cframe))
			return true;
	}
	return false;
}

/* Continues with another interpreter, if the activation is of that one. Returns whether it is. */
static __always_inline bool managed_switch(struct scratch *s, __u64 cfa, bool has_cframe)
{
	if (!managed_has_several(s))
		return false;
	managed_note_mixed(s);
	s->managed.frame_before = s->managed.frame;
	s->managed.cframe_before = s->managed.cframe;
	s->managed.count_before = s->managed.count;
	if (managed_try_states(s, cfa, has_cframe))
		return true;
	if (managed_search_all(s) && managed_try_states(s, cfa, has_cframe)) {
		managed_note_switch(s, true);
		return true;
	}
	managed_note_switch(s, false);
	s->managed.frame = s->managed.frame_before;
	s->managed.cframe = s->managed.cframe_before;
	s->managed.count = s->managed.count_before;
	return false;
}

/* The same if activations have cframes. A global function, so that the BPF verifier checks it
 * once. */
__noinline int managed_switch_cframe(struct scratch *given, __u64 cfa)
{
	struct scratch *s = CHECKED(given);

	return s && managed_switch(s, cfa, true);
}

/* Adds the frames of an activation if there is no cframe. Returns 0 if they are not proven. If
 * there are no frames so far, the innermost activation is in transition, and the chain is that of
 * the one before. */
static __always_inline int managed_add_owned(struct scratch *s, __u64 cfa)
{
	__u32 count = s->managed.count;
	__u64 first = s->managed.frame;
	__u32 why, is_before;

	if (managed_add_owned_all(s, cfa, true))
		return 1;
	if (managed_is_parted(s))
		return 0;
	is_before = s->managed.is_whole && s->managed.owned >= cfa;
	why = s->managed.is_whole ? STACKD_COUNT_MANAGED_ELSEWHERE : s->managed.why;
	managed_drop(s);
	s->managed.count = count;
	s->managed.frame = first;
	if (managed_switch(s, cfa, false))
		return 1;
	s->managed.why = why;
	if (count || !is_before)
		return 0;
	s->walk.is_once = 1;
	s->managed.why = STACKD_COUNT_MANAGED_ENTERING;
	return 1;
}

/* Reads the counter of code objects. */
static __always_inline void managed_begin_counter(struct scratch *s)
{
	struct thread_state *state = state_at(s);
	__u64 file = s->managed.base;
	__u64 interpreter = s->managed.interpreter_of_thread, at = 0;
	bool is_first = interpreter - (file + s->managed.is.runtime) < s->managed.is.runtime_bytes;

	if (!state)
		return;
	state->managed_low = s->managed.chunk;
	if (s->managed.is.counter_kind == STACKD_VERSIONS_OF_FILE)
		at = file + s->managed.is.counter;
	else if (!is_first)
		managed_note_mixed(s);
	else if (s->managed.is.counter_kind == STACKD_VERSIONS_OF_INTERPRETER)
		at = interpreter + s->managed.is.counter;
	managed_read_counter(s, state, at);
}

/* Returns whether the thread's walks rest from long chains. */
static __always_inline bool managed_rests(struct scratch *s)
{
	struct thread_state *state = state_at(s);

	if (!state || !state->managed_rest)
		return false;
	state->managed_rest--;
	s->managed.why = STACKD_COUNT_MANAGED_TOO_MANY;
	return true;
}

/* Prepares a walk for managed frames, at the first activation that it meets. */
static __always_inline bool managed_begin(struct scratch *s)
{
	s->walk.managed = MANAGED_ENDED;
	s->managed.count = 0;
	s->managed.resumed = 0;
	s->managed.sent = 0;
	s->managed.is_for_daemon = 0;
	s->managed.base = s->managed.pc - (s->location & STACKD_LOCATION_MASK);
	s->managed.steps = 0;
	if (!managed_take_facts(s, s->location >> 48) ||
	    (!managed_has_thread(s) && !managed_find_thread(s)) || managed_rests(s))
		return false;
	s->walk.managed = MANAGED_GOES_ON;
	if (managed_is_versioned(s))
		managed_begin_counter(s);
	if ((!managed_is_versioned(s) && s->managed.is.form != STACKD_INTERPRETER_OBJECT) ||
	    prefix_mode != STACKD_PREFIX_VERIFIED)
		s->walk.is_once = 1;
	return true;
}

/* Notes how far from the CFA the activation is led to: the cframe, or the frame that the C stack
 * owns, which a remembered frame does not show. */
static __always_inline void managed_note_distance(struct scratch *s)
{
	__u64 at = s->managed.is.form == STACKD_INTERPRETER_OWNER ? s->managed.owned
								  : s->managed.own_cframe;

	if (s->managed.why || s->managed.distance_of == s->record.header.time_ns ||
	    at < s->managed.low || at >= s->managed.cfa)
		return;
	s->managed.distance = s->managed.cfa - at;
	s->managed.distance_of = s->record.header.time_ns;
}

#define MANAGED_LONG   1024 /* steps of a long chain */
#define MANAGED_BROKEN 4    /* long chains in a row that are not proven, before such walks rest */
#define MANAGED_REST   63   /* walks without managed frames, between two of these */

/* Notes whether a long chain was proven. A process may have made it for nothing but to have it
 * read. */
static __always_inline void managed_note_long(struct scratch *s)
{
	struct thread_state *state = state_at(s);

	if (!state || s->managed.why == STACKD_COUNT_MANAGED_ENTERING)
		return;
	if (!s->managed.why)
		state->managed_broken = 0;
	else if (++state->managed_broken >= MANAGED_BROKEN)
		state->managed_rest = MANAGED_REST;
}

/* Counts an activation. This is a function of its own, so that its stack is not in use while
 * managed_frames() reads frames, which is when the stack is deepest. */
__noinline int managed_count(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct stackd_counters *counted;
	__u32 here = 0;
	__u64 why;

	counted = CHECKED(bpf_map_lookup_elem(&counters, &here));
	if (!s || !counted)
		return 0;
	counted->n[STACKD_COUNT_MANAGED_FRAMES] += s->n_new - s->managed.frames_before;
	managed_note_distance(s);
	if (s->managed.steps >= MANAGED_LONG)
		managed_note_long(s);
	why = s->managed.why;
	if (!why)
		return 0;
	FORGET(why);
	if (why < STACKD_COUNT_COUNT)
		counted->n[why]++;
	return 0;
}

/* Counts an activation whose frames were added. Returns whether the rest of the stack is as it was
 * remembered; then nothing more need be known of the activation. */
static __always_inline int managed_is_added(struct scratch *s)
{
	struct stackd_counters *counted;
	__u32 here = 0;

	if (RARELY(!s->managed.has_matched || s->managed.why || s->managed.steps >= MANAGED_LONG)) {
		managed_count(s);
		return s->managed.has_matched;
	}
	counted = CHECKED(bpf_map_lookup_elem(&counters, &here));
	if (counted)
		counted->n[STACKD_COUNT_MANAGED_FRAMES] += s->n_new - s->managed.frames_before;
	return 1;
}

/* Adds a frame that says that the activation's frames are not proven; or if some were sent, marks
 * all of the walk as not proven. Few activations need it, so it is out of the way of the others. */
__noinline int managed_give_up(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	if (managed_is_parted(s)) {
		managed_count(s);
		s->walk.managed = MANAGED_NOT_PROVEN;
		s->walk.is_once = 1;
		return 0;
	}
	managed_drop(s);
	managed_count(s);
	put_managed(s, STACKD_MANAGED_UNPROVEN, 0);
	s->managed.count++;
	s->walk.managed = MANAGED_ENDED;
	s->walk.is_once = 1;
	return 0;
}

#define MANAGED_RESUMED                                                                            \
	4		   /* activations of a walk that are not proven, and do not end the frames \
			    */
#define MANAGED_DROPPED 64 /* frames that may be dropped, for this */

/* Goes on behind the last activation, whose frames are not proven, if what leads to the frames of
 * the one before is in its native frame, by the distance from the CFA. Returns whether it does. A
 * global function, so that its stack is not in use when frames are read. */
__noinline int managed_resume(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 cfa, owned, owner, at;

	if (!s)
		return 0;
	cfa = s->managed.cfa;
	if (s->managed.resumed >= MANAGED_RESUMED || s->managed.dropped > MANAGED_DROPPED ||
	    s->managed.distance_of != s->record.header.time_ns ||
	    s->managed.distance > cfa - s->managed.low)
		return 0;
	s->managed.cframe = 0; /* managed_find_cframe() finds the next one */
	if (s->managed.is.form == STACKD_INTERPRETER_OWNER) {
		owned = cfa - s->managed.distance;
		at = owned + s->managed.is.frame_end;
		if (!managed_stack_word(s, at & ~7ull, &owner) ||
		    (owner >> (at & 7) * 8 & 255) != MANAGED_OWNED_BY_C ||
		    !managed_stack_word(s, owned + s->managed.is.frame_previous, &s->managed.frame))
			return 0;
	}
	s->managed.resumed++;
	s->walk.managed = MANAGED_GOES_ON;
	return 1;
}

/* Notes that the innermost activation has no managed frames, for it is being entered or left. */
__noinline int managed_in_transition(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	s->walk.is_once = 1;
	s->managed.why = STACKD_COUNT_MANAGED_ENTERING;
	managed_count(s);
	return 0;
}

/* Returns whether the activation's frame, whose mark is given, was interrupted where it puts itself
 * into the chain. */
static __always_inline bool is_linking(const struct scratch *s, const struct mark *mark)
{
	__u64 at = (s->location & STACKD_LOCATION_MASK) - s->managed.is.eval;

	return mark->slot & MARK_EXACT && at >= s->managed.is.linked_from &&
	       at < s->managed.is.linked_to;
}

/* Returns whether the activation's frame, whose mark is given, was interrupted where the last
 * managed frame does not lead to its caller yet: its link has a word of what was there before. */
static __always_inline bool is_pushing(const struct scratch *s, const struct mark *mark)
{
	__u32 at = (s->location & STACKD_LOCATION_MASK) - s->managed.is.eval;

	if (!(mark->slot & MARK_EXACT))
		return false;
	for (int i = 0; i < STACKD_INTERPRETER_PUSHES; i++) {
		if (at >= s->managed.is.pushed_from[i] && at < s->managed.is.pushed_to[i])
			return true;
	}
	return false;
}

/* Leaves out the frames of an activation to which the thread's state leads, but whose own links are
 * not set. The cframe of the activation before is as far from its CFA (managed_find_cframe()). */
__noinline int managed_skip_linking(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	if (s->managed.cframe >= s->managed.low) {
		s->walk.managed = MANAGED_UNLINKED;
		if (s->managed.cframe < s->managed.cfa) {
			s->managed.distance = s->managed.cfa - s->managed.cframe;
			s->managed.distance_of = s->record.header.time_ns;
		}
	}
	return managed_in_transition(s);
}

/* Leaves out the frames of such an activation. With cframes, what leads to the activation before is
 * set already. Otherwise nothing is proven. */
__noinline int managed_skip_pushing(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	if (s->managed.is.form == STACKD_INTERPRETER_OWNER ||
	    !managed_stack_word(s, s->managed.cframe + s->managed.is.cframe_previous,
				&s->managed.cframe))
		return managed_give_up(s);
	return managed_in_transition(s);
}

/* --- one frame for each activation ------------------------------------------------------------ */

/* Returns whether the innermost activation, whose mark is given, was interrupted where its frame is
 * not yet in the thread's chain, or not any more. */
static __always_inline bool is_unchained(const struct scratch *s, const struct mark *mark)
{
	__u64 at = (s->location & STACKD_LOCATION_MASK) - s->managed.is.eval;

	if (mark->slot & MARK_EXACT && at < s->managed.is.linked_to)
		return true;
	for (int i = 0; i < STACKD_INTERPRETER_LEFT; i++) {
		if (at >= s->managed.is.left_from[i] && at < s->managed.is.left_to[i])
			return true;
	}
	return false;
}

/* Reads the next frame of the thread's chain, an object in the heap. Gives its instruction, and the
 * number of its code object, 0 if that cannot be read. Returns whether it is a frame. */
static __always_inline bool managed_next_object(struct scratch *s, __s32 *ret_index,
						__u32 *ret_number)
{
	__u64 code;
	__s32 index;

	if (!s->managed.frame || !managed_read_object(s, s->managed.frame))
		return false;
	code = s->managed.object_code = managed_word(s, s->managed.is.frame_code);
	index = managed_object_index(s);
	s->managed.frame = managed_word(s, s->managed.is.frame_previous);
	if (index < -1 || index >= (__s32)STACKD_MANAGED_MASK)
		return false;
	*ret_index = index;
	*ret_number = managed_noted_content(s);
	if (!*ret_number)
		*ret_number = managed_code(s, code);
	if (!*ret_number && s->managed.new_code)
		*ret_number = managed_send_code(s);
	return true;
}

/* Adds that frame as the frame of the activation with this CFA. Returns whether the frame was
 * added. A global function, so that the BPF verifier checks it once. */
__noinline int managed_add_object(struct scratch *given, __u64 cfa)
{
	struct scratch *s = CHECKED(given);
	__s32 index = 0;
	__u32 number = 0;
	__u64 frame;

	if (!s)
		return 0;
	frame = s->managed.frame;
	if (!managed_next_object(s, &index, &number))
		return 0;
	s->guards[RECENT(s->n_new)] =
		(struct guard){.reg_slot = frame,
			       .reg_word = s->managed.object_code,
			       .word_slot = managed_object_position(s->managed.content, index),
			       .word = s->managed.frame,
			       .origin = MARK_LIVE,
			       .reg = STACKD_REG_SP | s->managed.file << 16};
	s->managed.cframe = cfa - 16;
	if (!number)
		s->managed.why = STACKD_COUNT_MANAGED_NAMELESS;
	else if (s->managed.count >= MANAGED_MOST || !put_managed(s, number, (__s64)index))
		s->managed.why = STACKD_COUNT_MANAGED_TOO_MANY;
	else
		s->managed.why = 0;
	s->managed.count += !s->managed.why;
	return !s->managed.why;
}

__noinline int perl_has_ended(struct scratch *given); /* managed_perl.bpf.h */

/* Ends a walk that has met an activation. If each activation has one frame, or one part of Perl's
 * contexts, marks all frames as not proven, unless the walk has reached the thread's entry and the
 * chain, or the contexts, have ended. A global function, so that the BPF verifier checks it once.
 */
__noinline int managed_finish(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s || !s->managed.count)
		return 0;
	if (s->managed.is.form == STACKD_INTERPRETER_PERL) {
		if (s->walk.managed == MANAGED_PERL && IS_WHOLE(s->end) && perl_has_ended(s))
			return 0;
	} else if (s->managed.is.form != STACKD_INTERPRETER_OBJECT ||
		   (s->walk.managed == MANAGED_GOES_ON && !s->managed.frame && IS_WHOLE(s->end))) {
		return 0;
	}
	s->walk.managed = MANAGED_NOT_PROVEN;
	s->walk.is_once = 1;
	count(STACKD_COUNT_MANAGED_BROKEN);
	return 0;
}

/* Adds the frame of an activation, or none if it is the innermost one and just being entered or
 * left. */
static __always_inline int managed_add_one(struct scratch *s, const struct mark *mark, __u64 cfa,
					   bool is_first)
{
	if (is_first && is_unchained(s, mark))
		return managed_in_transition(s);
	s->managed.may_part = 1;
	if (!managed_has_room(s) || !managed_add_object(s, cfa))
		return managed_give_up(s);
	managed_count(s);
	return 0;
}

__noinline int managed_leaves(struct scratch *given); /* managed_regs.bpf.h */

/* Steps out of a function that runs bytecode, and has what it runs in registers, by the rule in
 * s->switching. Returns WALK_MANAGED_REGS, WALK_AGAIN or an end reason. A global function, so that
 * the BPF verifier checks it once. */
__noinline int step_from_interpreter(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	int end;

	if (!s || (s->walk.is_exact && s->switching.saved_via_reg && at_return(s->walk.pc)))
		return STACKD_END_BAD_RECIPE;
	s->managed.low = s->walk.r[STACKD_REG_SP];
	if (!managed_leaves(s))
		return WALK_AGAIN;
	end = walk_step_plain(&s->walk, &s->switching);
	return end == WALK_GO_ON ? WALK_MANAGED_REGS : end;
}

/* Steps by the rule in s->switching, whose kind only runtimes have. */
__noinline int runtime_step(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s || s->switching.cfa == STACKD_CFA_COPIED)
		return STACKD_END_BAD_RECIPE;
	return s->switching.cfa == STACKD_CFA_EVAL_REGS ? step_from_interpreter(s)
							: step_to_other_stack(s);
}

/*
 * Adds the managed frames of an activation after the walk has stepped out of its native frame, to
 * the caller. Returns 1 if the rest of the stack is as it was remembered. A global function, so
 * that the BPF verifier checks it once.
 */
__noinline int managed_frames(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	const struct mark *mark;
	__u64 cfa;
	bool is_first;

	if (!s)
		return 0;
	s->end = STACKD_END_ENTRY;
	if (RARELY(!s->walk.pc)) {
		s->end = end_at_zero(s);
		return 1;
	}
	if (RARELY(s->walk.managed == MANAGED_NOT_PROVEN ||
		   (s->walk.managed == MANAGED_ENDED && !managed_resume(s))))
		return 0;
	mark = &s->marks[RECENT(s->n_new - 1)];
	cfa = s->managed.cfa = s->walk.r[STACKD_REG_SP];
	s->managed.pc = mark->ra - !(mark->slot & MARK_EXACT);
	s->managed.has_matched = 0;
	s->managed.dropped = 0;
	s->managed.new_code = 0;
	s->managed.bytes_before = s->bytes;
	s->managed.frames_before = s->n_new;
	s->managed.why = STACKD_COUNT_MANAGED_NO_THREAD;
	is_first = s->walk.managed == MANAGED_NOT_MET;
	if (RARELY(s->walk.managed >= MANAGED_RUBY || (is_first && !managed_begin(s))))
		return managed_give_up(s);
	s->managed.why = STACKD_COUNT_MANAGED_BROKEN;
	if (RARELY(s->managed.is.form == STACKD_INTERPRETER_OBJECT))
		return managed_add_one(s, mark, cfa, is_first);
	if (RARELY(is_pushing(s, mark)) &&
	    (s->managed.is.form == STACKD_INTERPRETER_OWNER ||
	     s->managed.cframe - s->managed.low < cfa - s->managed.low))
		return managed_skip_pushing(s);
	if (s->managed.is.form == STACKD_INTERPRETER_OWNER) {
		if (RARELY(!managed_add_owned(s, cfa)))
			return managed_give_up(s);
		return managed_is_added(s);
	}
	if (RARELY(s->managed.cframe - s->managed.low >= cfa - s->managed.low) &&
	    !managed_switch_cframe(s, cfa) && s->managed.cframe >= cfa && !s->managed.count &&
	    mark->slot & MARK_EXACT)
		return managed_in_transition(s);
	if (RARELY(is_linking(s, mark))) /* the links in its cframe must not be believed yet */
		return managed_skip_linking(s);
	if (RARELY(s->walk.managed == MANAGED_UNLINKED || s->managed.cframe < s->managed.low ||
		   s->managed.cframe >= cfa) &&
	    !managed_find_cframe(s, cfa)) {
		s->managed.why = STACKD_COUNT_MANAGED_ELSEWHERE;
		return managed_give_up(s);
	}
	if (RARELY(!managed_add_all(s)))
		return managed_give_up(s);
	return managed_is_added(s);
}

#endif
