/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prefetches the rules of the walk's next frames.
 *
 * Most of the cost of a new frame is a cache miss on its entry of the rule cache, since the program
 * fills the processor's caches between two samples. The misses come one after the other, as each
 * rule leads to the next return address. In a program with frame pointers, the chain of frame
 * pointers leads to the return addresses without rules. So the entries of many frames are loaded
 * together along the chain, and the processor overlaps the misses.
 *
 * The walk does not depend on the chain. In code without frame pointers the chain ends soon, and
 * the loaded entries are not used.
 */
#ifndef PREFETCH_BPF_H
#define PREFETCH_BPF_H

#include "prefix.bpf.h"
#include "recipe.bpf.h"

#define AHEAD_FRAMES 16 /* frames at a time */
/* entries are prefetched at this frame of a walk, and AHEAD_FRAMES later each time */
#define AHEAD_FROM 1

/* Returns whether a remembered frame (prefix.bpf.h) has this slot and return address. Moves *probe
 * rootwards to the first remembered frame that is not below this slot. */
static __always_inline bool is_marked(const struct thread_state *state, __u32 *probe, __u64 slot,
				      __u64 ra)
{
	for (int i = 0; i < 4 && *probe; i++) {
		const struct mark *mark = &state->marks[BOUNDED(*probe - 1, MAX_MARKS)];
		__u64 at = mark->slot & ~MARK_FLAGS;

		if (at == slot && mark->ra == ra)
			return true;
		if (at > slot)
			return false;
		--*probe;
	}
	return false;
}

/* Prefetches the entries of the rule cache along the chain of frame pointers. A global function, so
 * that the BPF verifier checks it once. */
__noinline int fetch_ahead(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state;
	__u64 frame, plain;
	__u32 probe;

	if (!s || s->window_plain < 16)
		return 0;
	state = state_at(s);
	probe = s->probe;
	plain = s->window_plain - 8;
	frame = s->walk.r[STACKD_REG_FP];
	for (int i = 0; i < AHEAD_FRAMES; i++) {
		__u64 offset = frame - s->window_base, above, ra;
		const struct seen_mapping *m = seen_at(s);
		const struct rule_set *set;

		if (offset >= plain)
			break;
		above = *(__u64 *)(s->window + BOUNDED(offset, WINDOW_BYTES));
		ra = *(__u64 *)(s->window + BOUNDED(offset + 8, WINDOW_BYTES));
		if (state && is_marked(state, &probe, frame + 8, ra))
			break;
		if (ra - 1 - m->start < m->size) {
			set = rule_set_of(s, block_hash(seen_location(m, ra - 1)));
			if (set)
				(void)*(const volatile __u64 *)&set->ways[0];
		}
		if (above <= frame)
			break;
		frame = above;
	}
	return 0;
}

#endif
