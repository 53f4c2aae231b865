/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps in code that the JIT compiler of the Erlang virtual machine (the BEAM, OTP 24 and later)
 * has made, and from C that such code calls.
 *
 * Each Erlang process has its own stack, in its heap, and the stack pointer points there while
 * compiled code runs. The words on it are terms, whose two lowest bits are not both 0, and return
 * addresses, in which both are 0, since the compiler aligns calls for that. The runtime's garbage
 * collector and stack traces tell them apart by these bits, and so does this walk. A call of a
 * shared fragment (code that all modules use) has a return address, too, which is not aligned; but
 * it is always right above the stack pointer. With frame pointers (+JPperf true), a frame pointer
 * is below each return address, and the frame pointer register points to the last of them.
 *
 * C runs on the thread's own stack, right below the scheduler's registers, to which
 * BEAM_REGISTERS_REG points. The code to which it returns shows how it gets back to the process's
 * stack: from the frame pointer, or from the process's structure, to which BEAM_PROCESS_REG points.
 *
 *   thread's stack:  sched_thread_func <- process_main <- C
 *                                         registers <- BEAM_REGISTERS_REG
 *                                                             return address in compiled code
 *                                                                  | frame pointer, or stop
 *   process's stack:   normal exit <- function <- function <-------+
 *
 * A process's stack ends with the address of the code that takes its result; that address follows
 * no call. While process_main, the scheduler's loop, runs, no process does, and its caller is on
 * the thread's stack. The daemon reads from process_main what differs from one version to another
 * (lib/code/runtime/beam). The forms of instructions are in arch/beam.bpf.h.
 *
 * As after a step to a goroutine, such a walk is not remembered (prefix.bpf.h).
 */
#ifndef RUNTIME_BEAM_BPF_H
#define RUNTIME_BEAM_BPF_H

#include "mapping.bpf.h"
#include "runtime_base.bpf.h"
#include "scratch.bpf.h"

#include "../arch/beam.bpf.h"
#include "../arch/code.bpf.h"

/* blocks of 64 bytes in which the end of a frame is searched */
#define BEAM_BLOCKS (BEAM_FRAME / 64)
#define BEAM_MOST   8192 /* limit of the blocks that a walk reads */

/* Copies the facts about the process to s->beam. They may be those of an earlier process with the
 * same id, so the first instruction of process_main is checked. */
static __always_inline bool take_beam(struct scratch *s)
{
	const union stackd_runtime_facts *facts = runtime_facts_of(s, STACKD_RUNTIME_BEAM);
	__u32 code = 0;

	if (!facts)
		return false;
	if (s->walk.has_left)
		return true;
	s->beam = facts->beam;
	return !bpf_probe_read_user(&code, sizeof(code), (const void *)facts->beam.main) &&
	       begins_main(code);
}

/* Searches this block of 64 bytes, which is within one page, for the first aligned word that is not
 * 0, from s->beam_at on. If it finds one, s->beam_word is the word and s->beam_at its address, and
 * it returns 1 to end the loop; also if there is nothing more to read, with s->beam_word 0. */
static long search_block(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	__u64 base = s->beam_at & ~63ull, found;
	__u32 first = s->beam_at >> 3 & 7;

	(void)turn;
	s->beam_word = 0;
	if (s->beam_blocks++ >= BEAM_MOST ||
	    bpf_probe_read_user(s->beam_words, sizeof(s->beam_words), (const void *)base))
		return 1;
	s->beam_found = 8;
	for (__u32 i = 8; i-- > 0;) {
		__u64 word = s->beam_words[i];

		if (i >= first && word && !(word & 3))
			AS_STORED(s->beam_found) = i;
		FORGET(first);
	}
	found = AS_STORED(s->beam_found);
	s->beam_at = base + found * 8;
	if (found >= 8)
		return 0;
	s->beam_word = s->beam_words[BOUNDED(found, 8)];
	return 1;
}

/* --- where a frame ends ----------------------------------------------------------------------- */

/* Returns whether the walk is in the part of the code that all modules share. */
static __always_inline bool is_shared(const struct scratch *s)
{
	return s->walk.pc - s->beam.start < s->beam.shared;
}

/* Returns the size of the frame, found in the code before and after the walk's pc; 0: the code does
 * not show it. */
static __always_inline __u64 frame_by_code(struct scratch *s)
{
	__u64 size;

	if (is_shared(s))
		return 0;
	size = last_change(s);
	return size > FRAME_GONE ? size : (__u64)frame_ahead(s, s->walk.pc);
}

/* Returns whether the word that was found at s->beam_at, in the frame with this stack pointer, may
 * be an old return address: according to the code, the frame is larger, and there is a return
 * address at its end, too. */
static __always_inline bool may_be_old(struct scratch *s, __u64 sp)
{
	__u64 size = frame_by_code(s), pc;

	return size && sp + size != s->beam_at && read_apart(sp, size, &pc) && follows_call(pc);
}

/* Steps to the caller whose return address was found at s->beam_at. */
static __always_inline int arrive_at_found(struct scratch *s)
{
	__u64 pc;

	if (follows_call(s->beam_word))
		return arrive(&s->walk, s->beam_at + 8, s->beam_word, false);
	if (s->beam_word - s->beam.start < s->beam.size)
		return STACKD_END_ENTRY;
	if (s->beam_word - s->beam_at > BEAM_FRAME || !read_apart(s->beam_at, 8, &pc))
		return STACKD_END_STACK_SWITCH; /* the word is not a frame pointer */
	if (follows_call(pc))
		return arrive(&s->walk, s->beam_at + 16, pc, false);
	return pc - s->beam.start < s->beam.size ? STACKD_END_ENTRY : STACKD_END_STACK_SWITCH;
}

/*
 * Steps to the caller on the process's stack, where the stack pointer is `sp`. In two frames, slots
 * may not be set yet: in the first frame of the walk, and in the frame that has called a shared
 * fragment. Returns WALK_GO_ON or an end reason. A global function, so that the BPF verifier checks
 * it once.
 */
__noinline int step_on_process(struct scratch *given, __u64 sp)
{
	struct scratch *s = CHECKED(given);
	__u32 steps;
	__u64 pc;

	if (!s)
		return STACKD_END_STACK_SWITCH;
	steps = s->walk.has_left++;
	if (!steps)
		s->beam_blocks = 0;
	if (sp & 7)
		return STACKD_END_STACK_SWITCH;
	if (!steps && is_shared(s) && read_apart(sp, 0, &pc) && follows_call(pc)) {
		if (pc - s->beam.start >= s->beam.size && !mapping_met(s, pc))
			return STACKD_END_STACK_SWITCH;
		return arrive(&s->walk, sp + 8, pc, false);
	}
	s->beam_at = sp;
	bpf_loop(BEAM_BLOCKS, search_block, &s, 0);
	if (!s->beam_word || (steps < 2 && may_be_old(s, sp)))
		return STACKD_END_STACK_SWITCH;
	return arrive_at_found(s);
}

/* Steps to a caller whose frame pointer is known. */
static __always_inline int arrive_with_pointer(struct scratch *s, __u64 cfa, __u64 pc, __u64 fp)
{
	if (!follows_call(pc))
		return pc - s->beam.start < s->beam.size ? STACKD_END_ENTRY
							 : STACKD_END_STACK_SWITCH;
	s->walk.r[STACKD_REG_FP] = fp;
	arrive(&s->walk, cfa, pc, false);
	s->walk.valid |= 1u << STACKD_REG_FP;
	return WALK_GO_ON;
}

/* Steps out of a frame that ends at `fp`. The frame pointer is enough, whatever the frame's slots
 * contain. */
static __always_inline int step_by_pointer(struct scratch *s, __u64 sp, __u64 fp)
{
	__u64 caller, pc;

	if (fp - sp > BEAM_FRAME || fp & 7 || !read_apart(fp, 0, &caller) ||
	    !read_apart(fp, 8, &pc))
		return STACKD_END_STACK_SWITCH;
	return arrive_with_pointer(s, fp + 16, pc, caller);
}

/* Returns 1 if the frame of the walk's function is set up, 0 if it is not, -1 if neither is
 * certain. `top` is the word on top of the stack. If that word does not follow a call, it is no
 * return address, so there is a frame; if it does, it may be an old return address, in a slot that
 * is not set yet. */
static __always_inline int has_frame(struct scratch *s, __u64 top)
{
	__u64 last;

	if (!follows_call(top))
		return 1;
	if (is_shared(s) || (s->walk.is_exact && is_frameless(s, s->walk.pc)))
		return 0;
	if (leaves_frame(s, s->walk.pc))
		return 1;
	last = last_change(s);
	return last && last != FRAME_GONE ? 1 : -1;
}

/* Makes the first step of a walk if there are frame pointers. `fp` is the function's own frame
 * pointer, or its caller's if the function has no frame. */
static __always_inline int step_by_its_pointer(struct scratch *s, __u64 sp, __u64 fp)
{
	int leaf = s->walk.is_exact ? leaf_at(s->walk.pc) : STACKD_LEAF_MADE, has;
	__u64 top;

	s->walk.has_left = 1;
	if (sp & 7 || !read_apart(sp, 0, &top))
		return STACKD_END_STACK_SWITCH;
	if (leaf == STACKD_LEAF_PUSHED)
		return step_by_pointer(s, sp, sp);
	/* fp == sp: there is a frame, without slots, since the caller's frame pointer is above the
	 * return address. What is on top then points to a stack, where the bytes in front may look
	 * like a call: such as those of a term, 0x7f12e8345679. */
	has = leaf == STACKD_LEAF_NONE ? 0 : fp == sp ? 1 : has_frame(s, top);
	if (has < 0 || (has && is_shared(s) && fp != sp)) /* the shared code has pushed something
							   * else */
		return STACKD_END_STACK_SWITCH;
	return has ? step_by_pointer(s, sp, fp) : arrive_with_pointer(s, sp + 8, top, fp);
}

/* --- from one stack to another ---------------------------------------------------------------- */

/* Steps from process_main to its caller. process_main has aligned the stack to 64 bytes, so its
 * return address can be in one of four slots. The slots below it may have return addresses of calls
 * that have returned, so the highest is taken. */
static __always_inline int step_from_main(struct scratch *s)
{
	__u64 slot = s->walk.r[STACKD_REG_SP] + s->beam.frame + 56, pc;

	for (int i = 0; i < 4; i++, slot -= 16) {
		if (read_apart(slot, 0, &pc) && pc - s->beam.start >= s->beam.size &&
		    follows_call(pc))
			return arrive(&s->walk, slot + 8, pc, false);
	}
	return STACKD_END_STACK_SWITCH;
}

/* Steps from code on the thread's stack to the process's stack or, from process_main, to its
 * caller. */
static __always_inline int step_to_process(struct scratch *s)
{
	struct walk *w = &s->walk;
	enum way_back way = way_back(s);
	__u64 sp, fp = w->r[STACKD_REG_FP];

	if (way == BACK_BY_POINTER && !s->beam.has_pointers && walk_is_valid(w, STACKD_REG_FP))
		return step_on_process(s, w->r[STACKD_REG_FP]);
	if ((way == BACK_BY_PROCESS || way == BACK_WITH_POINTER) &&
	    walk_is_valid(w, BEAM_PROCESS_REG) &&
	    read_apart(w->r[BEAM_PROCESS_REG], s->beam.stop, &sp)) {
		if (!s->beam.has_pointers)
			return step_on_process(s, sp);
		if (way == BACK_WITH_POINTER
			    ? !read_apart(w->r[BEAM_PROCESS_REG], s->beam.stop + 8, &fp)
			    : !walk_is_valid(w, STACKD_REG_FP))
			return STACKD_END_STACK_SWITCH;
		return step_by_its_pointer(s, sp, fp);
	}
	return w->pc - s->beam.main < s->beam.main_size ? step_from_main(s)
							: STACKD_END_STACK_SWITCH;
}

__noinline int step_in_beam(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 sp;

	if (!s || !take_beam(s))
		return RUNTIME_NOT;
	sp = s->walk.r[STACKD_REG_SP];
	s->walk.is_once = 1;
	if (s->walk.has_left && s->beam.has_pointers)
		return step_by_pointer(s, sp, s->walk.r[STACKD_REG_FP]);
	if (s->walk.has_left)
		return step_on_process(s, sp);
	if (s->walk.is_lean)
		return WALK_AGAIN;
	if (walk_is_valid(&s->walk, BEAM_REGISTERS_REG) &&
	    s->walk.r[BEAM_REGISTERS_REG] - s->beam.registers == sp)
		return step_to_process(s);
	if (!s->walk.is_exact)
		return STACKD_END_STACK_SWITCH;
	return s->beam.has_pointers ? step_by_its_pointer(s, sp, s->walk.r[STACKD_REG_FP])
				    : step_on_process(s, sp);
}

#endif
