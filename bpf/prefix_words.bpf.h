/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the words that are compared with a remembered stack (prefix.bpf.h), if its frames are
 * large.
 *
 * The window (stack_window.bpf.h) has all of the stack from the stack pointer on. That suits new
 * frames, each of which leads to the next, and small frames. But in a stack of 16 KiB with ten
 * frames, the marks' slots are in ten of 256 cache lines, and each copied line can be two cache
 * misses, in the program's stack and in the copy. So the words of marks beyond the window are read
 * in runs. A run is a copy of the stack from one mark's slot on, up to the last mark that closely
 * follows the mark before it.
 *
 *    stack pointer                                                            root
 *     |window________|        |run__|            |run_______|               |run|
 *      ..............   m8     m7 m6              m5 m4 m3                   m2 m1
 */
#ifndef PREFIX_WORDS_BPF_H
#define PREFIX_WORDS_BPF_H

#include "scratch.bpf.h"
#include "thread_state.bpf.h"
#include "stack_window.bpf.h"

/* bytes between two marks; to copy more bytes would cost as much as another copy */
#define RUN_GAP	  256
#define RUN_MARKS 16

/* Gives the word at an address, if the window or the run has it. Returns false if not. */
static __always_inline bool word_at_hand(const struct scratch *s, __u64 address, __u64 *ret_word)
{
	__u64 offset = address - s->window_base;

	if (offset < s->window_plain) {
		*ret_word = *(__u64 *)(s->window + BOUNDED(offset, WINDOW_BYTES));
		return true;
	}
	offset = address - s->run_base;
	if (offset >= s->run_plain)
		return false;
	*ret_word = *(__u64 *)(s->run + BOUNDED(offset, RUN_BYTES));
	return true;
}

/* Returns the start of a run that must have the word at `address`. The run has the word's whole
 * cache line, and the word below it, which may be the saved frame pointer, unless that word is in
 * another page. */
static __always_inline __u64 run_start(__u64 address)
{
	__u64 below = address - 8;

	if ((below ^ address) & ~(__u64)(PAGE_SIZE - 1))
		below = address;
	return below & ~(__u64)(CACHE_LINE - 1);
}

/* Copies a run that has the word at `address` and, as far as they follow closely, the slots of the
 * marks from s->check - 1 on, rootwards. Returns 0, or 1 if the memory cannot be read. */
static __always_inline int run_copy(struct scratch *s, __u64 address)
{
	const struct thread_state *state = state_at(s);
	__u64 start = run_start(address), end = address + 8;
	__u32 next = s->check, len;

	if (!state)
		return 1;
	for (int i = 0; i < RUN_MARKS && next; i++, next--) {
		__u64 behind = (state->marks[BOUNDED(next - 1, MAX_MARKS)].slot & ~MARK_FLAGS) + 8;

		if (behind > end + RUN_GAP || behind > start + RUN_BYTES)
			break;
		if (behind > end)
			end = behind;
	}
	len = end - start;
	s->run_plain = 0;
	if (len > RUN_BYTES ||
	    bpf_probe_read_user(s->run, BOUNDED(len, 2 * RUN_BYTES), (const void *)start))
		return 1;
	s->run_base = start;
	s->run_plain = len - 7;
	return 0;
}

/* Returns whether the word at an address is `word`. Copies a run if necessary. */
static __always_inline bool holds(struct scratch *s, __u64 address, __u64 word)
{
	__u64 is = 0;

	if (word_at_hand(s, address, &is))
		return is == word;
	return !run_copy(s, address) && word_at_hand(s, address, &is) && is == word;
}

#endif
