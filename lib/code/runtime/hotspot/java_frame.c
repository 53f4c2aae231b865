/* SPDX-License-Identifier: MIT */
/* Checks the words of an interpreter's frame; see java_frame.h. */
#include "runtime/hotspot/java_frame.h"

#include "arch/java_entry.h"

#define SENDER_SP 8 /* SENDER_SP, LAST_SP and LOCALS are distances below the frame pointer */
#define LAST_SP	  16
#define LOCALS	  56
#define FIXED	  72 /* bytes that each frame has below the frame pointer */
/* bytes from the frame pointer up: the saved frame pointer and the return address */
#define ABOVE 16

/* Limit of the bytes of arguments that are copied to the stack for compiled code: 255 words, and
 * the alignment. */
#define MOST_ARGUMENTS (256 * 8)

/* Words from here down to its negative are distances from the frame pointer, in words. */
#define FARTHEST (INT64_C(1) << 24)

static bool read_word(const struct walk_memory *m, uint64_t fp, uint64_t below, uint64_t *ret_word)
{
	return !(fp & 7) && walk_memory_read8(m, fp - below, ret_word);
}

/* Reads a word with a place in the stack; 0: there is none. */
static bool read_place(const struct walk_memory *m, uint64_t fp, uint64_t below,
		       uint64_t *ret_address)
{
	int64_t distance;

	if (!read_word(m, fp, below, ret_address))
		return false;
	distance = (int64_t)*ret_address;
	if (distance && distance >= -FARTHEST && distance <= FARTHEST)
		*ret_address = fp + (uint64_t)distance * 8;
	return true;
}

bool java_frame_waits(const struct walk_memory *m, uint64_t fp, uint64_t slot,
		      uint64_t *ret_last_sp)
{
	uint64_t sender_sp, last_sp;

	if (!read_word(m, fp, SENDER_SP, &sender_sp) || !read_place(m, fp, LAST_SP, &last_sp) ||
	    sender_sp & 7 || last_sp & 7)
		return false;
	*ret_last_sp = last_sp;
	return sender_sp >= fp + ABOVE && sender_sp - m->start < m->len && last_sp >= slot + 8 &&
	       last_sp - slot - 8 <= MOST_ARGUMENTS && last_sp <= fp - FIXED;
}

bool java_frame_is_called(const struct walk_memory *m, uint64_t fp, uint64_t sender_sp, bool waits)
{
	uint64_t own, last_sp;

	return read_word(m, fp, SENDER_SP, &own) && read_place(m, fp, LAST_SP, &last_sp) &&
	       own == sender_sp && (last_sp != 0) == waits;
}

bool java_frame_is(const struct walk_memory *m, uint64_t fp)
{
	uint64_t sender_sp, last_sp, locals;

	return read_word(m, fp, SENDER_SP, &sender_sp) && read_place(m, fp, LAST_SP, &last_sp) &&
	       read_place(m, fp, LOCALS, &locals) && !((sender_sp | last_sp | locals) & 7) &&
	       sender_sp > fp && sender_sp - m->start <= m->len &&
	       (!last_sp || last_sp <= fp - FIXED) && locals >= fp + 8 &&
	       locals - m->start <= m->len;
}

bool java_frame_sender(const struct walk_memory *m, uint64_t fp, uint64_t *ret_sender_sp)
{
	uint64_t sender_sp, last_sp, locals;

	if (!read_word(m, fp, SENDER_SP, &sender_sp) || !read_place(m, fp, LAST_SP, &last_sp) ||
	    !read_place(m, fp, LOCALS, &locals))
		return false;
	*ret_sender_sp = sender_sp;
	return !((sender_sp | last_sp | locals) & 7) && sender_sp >= fp + ABOVE &&
	       sender_sp - m->start < m->len && (!last_sp || last_sp <= fp - FIXED) &&
	       locals >= fp + 8 && locals < sender_sp;
}

bool java_frame_runs(const struct walk_memory *m, uint64_t fp, uint64_t sp)
{
	uint64_t sender_sp, last_sp, locals, bottom;

	return read_word(m, fp, SENDER_SP, &sender_sp) && read_place(m, fp, LAST_SP, &last_sp) &&
	       read_place(m, fp, LOCALS, &locals) && read_place(m, fp, FIXED, &bottom) &&
	       !last_sp && !((sender_sp | locals | bottom) & 7) && sender_sp >= fp + ABOVE &&
	       sender_sp - m->start < m->len && locals >= fp + 8 && locals - m->start < m->len &&
	       bottom <= fp - FIXED && bottom >= sp;
}

size_t java_frame_starts(const uint8_t *code, size_t len, uint64_t address, uint64_t *ret_starts,
			 size_t max)
{
	size_t n = 0;

	for (size_t at = 0; at + JAVA_ENTRY_START_BYTES <= len && n < max; at++) {
		if (java_entry_is_start(code + at))
			ret_starts[n++] = address + at;
	}
	return n;
}
