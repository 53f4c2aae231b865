/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segments and heights: what alignment goes by (lib/align).
 *
 * A segment is the top of a stack: the walk ends after so many frames, at a cost that does not
 * depend on how deep the stack is. What lies below is told by anchors, few samples whose walk goes
 * to the entry: of each thread those numbered 1, 2, 4, 8, ... 128 and then each 128th. Heights tell
 * how far above a frame the stack ends, in bytes: at one place in code, frames of one height are
 * nearly always of one call. In a record each frame then follows its height (of the slot that its
 * program counter was read from; of the stack pointer for the leaf), and after the last frame
 * stands the height of the slot that the walk came to. 0: not known.
 */
#ifndef SEGMENT_BPF_H
#define SEGMENT_BPF_H

#include "scratch.bpf.h"

SETTING __u32 segment_frames = 0; /* frames of a walk; 0: all, to the thread's entry */
SETTING __u32 with_heights = 0;

/* Has the walk as many frames as it is to have? */
static __always_inline bool segment_is_full(const struct scratch *s, __u32 frames)
{
	return segment_frames && frames >= segment_frames && !s->is_anchor;
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
