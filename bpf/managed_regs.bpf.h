/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Activations of an interpreter that keeps the address of its frame, or state, in a register: what
 * is noted of one when a walk steps out of its native frame, for managed_ruby.bpf.h,
 * managed_php.bpf.h and managed_perl.bpf.h.
 */
#ifndef MANAGED_REGS_BPF_H
#define MANAGED_REGS_BPF_H

#include "managed_code.bpf.h"
#include "scratch.bpf.h"

/* Notes the registers of an activation before the walk steps out of it. Returns 0 if the walk does
 * not have them. A global function, so that the BPF verifier checks it once. */
__noinline int managed_leaves(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u32 i = 0;

	if (!s || s->walk.is_lean)
		return 0;
	s->managed.regs.sp = s->walk.r[STACKD_REG_SP];
	s->managed.regs.frame = s->managed.regs.instruction = 0;
	if (!managed_take_facts(s, s->location >> 48))
		return 1;
#define MANAGED_X(name, number)                                                                    \
	s->managed.regs.r[i] = walk_is_valid(&s->walk, number) ? s->walk.r[number] : 0;            \
	if (s->managed.is.frame_register == (number))                                              \
		s->managed.regs.frame = s->managed.regs.r[i];                                      \
	if (s->managed.is.instruction_register == (number))                                        \
		s->managed.regs.instruction = s->managed.regs.r[i];                                \
	i++;
	STACKD_SAVED_REGS(MANAGED_X)
#undef MANAGED_X
	return 1;
}

/* Notes what managed_count() and managed_drop() need to know of an activation. */
static __always_inline const struct mark *managed_note_activation(struct scratch *s)
{
	const struct mark *mark = &s->marks[RECENT(s->n_new - 1)];

	s->managed.cfa = s->walk.r[STACKD_REG_SP];
	s->managed.cframe = s->managed.cfa - 16;
	s->managed.low = 0;
	s->managed.pc = mark->ra - !(mark->slot & MARK_EXACT);
	s->managed.dropped = 0;
	s->managed.new_code = 0;
	s->managed.bytes_before = s->bytes;
	s->managed.frames_before = s->n_new;
	return mark;
}

/* Prepares a walk for managed frames, at the first activation that it meets. Returns false if the
 * interpreter's facts are not known. */
static __always_inline bool managed_begin_regs(struct scratch *s)
{
	s->walk.managed = MANAGED_ENDED;
	s->walk.is_once = 1;
	s->managed.count = 0;
	s->managed.sent = 0;
	s->managed.own_cframe = 0;
	s->managed.base = s->managed.pc - (s->location & STACKD_LOCATION_MASK);
	return managed_take_facts(s, s->location >> 48);
}

#endif
