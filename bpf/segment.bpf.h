/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Captures segments and heights, by which alignment joins partial paths to the missing outer frames
 * (lib/record/align).
 *
 * A segment is the top of a stack: the walk ends after a given number of frames, so its cost does
 * not depend on the depth of the stack. The outer frames are known from anchors, the few samples
 * that are walked to the thread's entry:
 *
 *   - of each thread the samples 1, 2, 4, 8, ... 128 and then each 128th;
 *   - samples whose segment ends at a return address and a slot that are new to the thread, since
 *     only a complete walk can find the frames beyond these. Eight segments that end where earlier
 *     ones did pay for one such anchor. So a program whose stacks hardly ever repeat, such as a
 *     compiler, gains little from anchors, and also pays little for them. Only the last
 *     STACKD_ANCHOR_ENDS ends are remembered, so that a part of the program that runs again gets
 *     anchors again.
 *
 * The height of a frame is its distance from the stack's end, in bytes: frames at one location with
 * the same height nearly always belong to the same call. In a record, each frame's height precedes
 * the frame. It is the height of the slot from which the frame's program counter was read; for the
 * leaf, that of the stack pointer. The height of the slot at which the walk stopped follows the
 * last frame. 0: not known.
 */
#ifndef SEGMENT_BPF_H
#define SEGMENT_BPF_H

#include "prefix.bpf.h"

SETTING __u32 segment_frames = 0; /* number of frames of a walk; 0: all frames, to the thread's
				   * entry */
SETTING __u32 with_heights = 0;

/* Returns whether a segment's end is new to the thread, and the thread can pay for an anchor. Ends
 * are kept in the last of the state's marks, which an anchor's path hardly ever needs. */
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

/* Returns whether the walk has all the frames of a segment, so that it can end. */
static __always_inline bool segment_is_full(struct scratch *s, __u32 frames)
{
	if (!segment_frames || frames < segment_frames || s->is_anchor)
		return false;
	s->is_anchor = segment_is_news(s);
	return !s->is_anchor;
}

/* Adds the height of the walk's present slot to the record. Returns false if the record has no room
 * for a height and a frame. */
static __always_inline bool put_height(struct scratch *s)
{
	__u64 slot = s->walk.slot ? s->walk.slot : s->walk.r[STACKD_REG_SP];
	/* On another stack, such as a signal handler's, the difference wraps around or is too
	 * large. Then the height is 0. */
	__u64 height = s->stack_end - slot, most = s->stack_end - s->record.regs.r[STACKD_REG_SP];
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
