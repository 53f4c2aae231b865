/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fast path: walks batches of common frames.
 *
 * Nearly all new frames have a return address whose rule is in the cache. The rule gives the CFA
 * from the stack pointer, or from a frame pointer that was pushed the usual way, and all words that
 * it needs are in the window (the copy of a part of the stack: stack_window.bpf.h). For such common
 * frames, the conditions that the general step (walk.h) checks always hold: which registers are
 * valid, whether a signal came in between, whether the window has to grow. A stride takes up to
 * STRIDE_FRAMES of them and checks only that they are common. It stops before the first frame that
 * is not common, or that looks like a remembered frame (one of the thread's last walk:
 * prefix.bpf.h); the general step walks at least that frame. Both record the same data of a frame.
 * But if the frame pointer was unknown, a stride does not note that it has become known. If the
 * general step then needs it, the walk is done again with all registers. (To note it here would
 * cost all walks 1 %.)
 */
#ifndef FAST_PATH_BPF_H
#define FAST_PATH_BPF_H

#include "prefetch.bpf.h"
#include "prefix.bpf.h"
#include "probed.bpf.h"
#include "recipe.bpf.h"
#include "segment.bpf.h"

#define STRIDE_FRAMES 8

/* Returns whether the walk's frame may be a remembered frame; true also if a full search would take
 * long. */
static __always_inline bool stride_may_match(struct scratch *s, const struct thread_state *state)
{
	__u64 slot = s->walk.slot;
	__u32 probe = s->probe;

	for (int i = 0; i < 4 && probe; i++) {
		const struct mark *mark = &state->marks[BOUNDED(probe - 1, MAX_MARKS)];
		__u64 at = mark->slot & ~MARK_FLAGS;

		if (at >= slot)
			return at == slot && mark->ra == s->walk.pc;
		s->probe = --probe;
	}
	return probe;
}

/* Returns the rule for the walk's frame, if the frame is a return address in a file, and the cache
 * has the rule. */
static __always_inline const struct stackd_rule *stride_rule(struct scratch *s)
{
	const struct seen_mapping *m = seen_at(s);
	__u64 address = s->walk.pc - 1, hash;
	struct rule_set *set;

	if (may_be_trampoline(s->walk.pc) ||
	    (address - m->start >= m->size && !mapping_met(s, address)))
		return NULL;
	s->location = seen_location(seen_at(s), address);
	hash = block_hash(s->location);
	set = rule_set_of(s, hash);
	return set ? cached_rule(set, hash, s->location) : NULL;
}

/* Returns whether the rule gives the CFA from the stack pointer, or from a frame pointer that was
 * pushed the usual way, so that a stride can apply it. */
static __always_inline bool is_stride(const struct scratch *s, const struct stackd_rule *rule)
{
	if (rule->cfa != STACKD_CFA_REG || rule->saved_via_reg ||
	    (ARCH_HAS_LINK && !rule->ra_offset))
		return false;
	return rule->reg == STACKD_REG_SP || is_plain(s, s->n_new, rule);
}

/* Walks one common frame. Returns false, with nothing changed, if the frame is not common, so that
 * the general step has to walk it. */
static __always_inline bool stride_step(struct scratch *s)
{
	const struct stackd_rule *rule = stride_rule(s);
	__u64 base = s->window_base, plain = s->window_plain, cfa, ra_at, fp_at, pc;
	__u32 frame = s->n_new;
	struct mark *mark;

	if (!rule || !is_stride(s, rule))
		return false;
	mark = &s->marks[RECENT(frame)];
	cfa = s->walk.r[rule->reg == STACKD_REG_SP ? STACKD_REG_SP : STACKD_REG_FP] +
	      (__u64)(__s64)rule->cfa_offset;
	ra_at = cfa + (__u64)(__s64)rule->ra_offset - base;
	fp_at = cfa + (__u64)(__s64)rule->saved[0] - base;
	if (cfa <= s->walk.r[STACKD_REG_SP] || ra_at >= plain || (rule->saved[0] && fp_at >= plain))
		return false;
	pc = ARCH_CODE_ADDRESS(*(__u64 *)(s->window + BOUNDED(ra_at, WINDOW_BYTES)));
	if (!pc || !put_short(s, s->location))
		return false;
	touch_mapping(s);
	mark->slot = s->walk.slot | (rule->reg == STACKD_REG_SP ? 0 : MARK_PLAIN);
	mark->ra = s->walk.pc;
	if (rule->saved[0]) {
		s->walk.r[STACKD_REG_FP] = *(__u64 *)(s->window + BOUNDED(fp_at, WINDOW_BYTES));
		s->walk.origin[STACKD_REG_FP].slot = fp_at + base;
		s->walk.origin[STACKD_REG_FP].frame = frame;
	}
	s->walk.slot = ra_at + base;
	s->walk.pc = pc;
	s->walk.r[STACKD_REG_SP] = cfa;
	s->walk.frame = frame + 1;
	s->n_new = frame + 1;
	return true;
}

static __always_inline bool has_strides(void)
{
	return prefix_mode != STACKD_PREFIX_SECOND && !segment_frames && !with_heights;
}

/* Walks up to STRIDE_FRAMES common frames from the current one. The caller has checked that the
 * current frame is not one of the thread's last walk (prefix_matches()). Returns whether it walked
 * any. It is a global function, so the BPF verifier checks it once, not in each place that calls
 * it. */
__noinline int stride(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state;
	__u32 from;

	if (!has_strides() || !s || !s->walk.is_lean || s->walk.is_exact ||
	    s->n_new + STRIDE_FRAMES > s->most || s->bytes > MAX_BYTES - 4 * STRIDE_FRAMES)
		return 0;
	from = s->n_new;
	state = state_at(s);
	for (int i = 0; i < STRIDE_FRAMES && state && stride_step(s); i++) {
		if (s->n_new % AHEAD_FRAMES == AHEAD_FROM || stride_may_match(s, state))
			break;
	}
	s->rule_hits += s->n_new - from;
	if (ARCH_HAS_LINK && s->n_new - from > 1)
		s->matched_before = 0;
	return s->n_new != from;
}

#endif
