/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segments and heights: what alignment goes by (lib/align).
 *
 * A segment is the top of a stack: the walk ends after so many frames, at a cost that does not
 * depend on how deep the stack is. What lies below is told by anchors, few samples whose walk goes
 * to the entry:
 *
 *   - of each thread the samples 1, 2, 4, 8, ... 128 and then each 128th;
 *   - where a segment ends at a return address and a slot that are new to the thread: nothing but a
 *     whole walk tells what is there. These are earned by segments that end where others did, eight
 *     for one: a program whose stacks are never the same again, as a compiler's, would gain little
 *     by them, and pays as little. Only the last few ends are remembered, so that a part of the
 *     program that comes back is looked at again.
 *
 * Heights tell how far above a frame the stack ends, in bytes: at one place in code, frames of one
 * height are nearly always of one call. In a record each frame then follows its height (of the slot
 * that its program counter was read from; of the stack pointer for the leaf), and after the last
 * frame stands the height of the slot that the walk came to. 0: not known.
 */
#ifndef SEGMENT_BPF_H
#define SEGMENT_BPF_H

#include "prefix.bpf.h"

SETTING __u32 segment_frames = 0; /* frames of a walk; 0: all, to the thread's entry */
SETTING __u32 with_heights = 0;

/* Is the place that a segment has come to new to the thread, and can it have an anchor? Ends are
 * kept in the last marks, which an anchor's path hardly reaches. */
static __always_inline bool segment_is_news(struct scratch *s)
{
	struct thread_state *state = state_at(s);
	__u64 slot = s->walk.slot, pc = s->walk.pc;
	struct mark *end;

	if (!state || prefix_mode != STACKD_PREFIX_NONE)
		return false;
	end = &state->marks[MAX_MARKS - 1 - mix(slot ^ pc << 16) % STACKD_ANCHOR_ENDS];
	if (end->slot == slot && end->ra == pc) {
		if (state->credit < STACKD_ANCHOR_CREDIT)
			state->credit++;
		return false;
	}
	if (state->credit < STACKD_ANCHOR_PRICE)
		return false;
	state->credit -= STACKD_ANCHOR_PRICE;
	end->slot = slot;
	end->ra = pc;
	return true;
}

/* Has the walk as many frames as it is to have? */
static __always_inline bool segment_is_full(struct scratch *s, __u32 frames)
{
	if (!segment_frames || frames < segment_frames || s->is_anchor)
		return false;
	s->is_anchor = segment_is_news(s);
	return !s->is_anchor;
}

/* Adds the height of the slot that the walk is at. false: the record has no room for it and a
 * frame. */
static __always_inline bool put_height(struct scratch *s)
{
	__u64 slot = s->walk.slot ? s->walk.slot : s->walk.r[STACKD_REG_RSP];
	/* On another stack, which a signal handler has, it wraps around or is too much. */
	__u64 height = s->stack_end - slot, most = s->stack_end - s->record.regs.r[STACKD_REG_RSP];
	__u32 at = s->bytes;

	if (!with_heights)
		return true;
	if (at > MAX_BYTES - 16)
		return false;
	put_bytes(&s->walked.bytes[BOUNDED(at, 2 * MAX_FRAMES * 8)],
		  s->stack_end && height <= most && height <= ~0u ? height : 0, 4);
	s->bytes = at + 4;
	return true;
}

#endif
