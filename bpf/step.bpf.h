/* SPDX-License-Identifier: GPL-2.0-only */
/* The step of a walk from a frame to its caller. */
#ifndef STEP_BPF_H
#define STEP_BPF_H

#include "mapping.bpf.h"
#include "runtime.bpf.h"
#include "scratch.bpf.h"
#include "stack_window.bpf.h"

#include "../arch/code.bpf.h"
#include "cloned.bpf.h"
#include "../arch/leaf_frame.h"

/* Returns whether the rule is of a function that realigns its stack: the CFA is read from memory,
 * or a register is saved at a distance from the frame pointer. */
static __always_inline bool is_realigned(const struct stackd_rule *rule)
{
	return rule->cfa == STACKD_CFA_DEREF || rule->saved_via_reg;
}

/* Returns the rule of a frame that was interrupted, with which the step is made: the one that the
 * instructions there prove, or `rule`. */
static __noinline const struct stackd_rule *rule_of_leaf(struct scratch *s,
							 const struct stackd_rule *rule)
{
	const __u32 behind = LEAF_FRAME_WORDS - LEAF_FRAME_BEFORE;
	__u32 words[LEAF_FRAME_WORDS] = {0};

	if (!s->walk.frame && is_just_cloned(s->record.regs.r, s->call_bytes)) {
		__builtin_memset(&s->switching, 0, sizeof(s->switching));
		s->switching.cfa = STACKD_CFA_END;
		s->walk.is_once = 1; /* it is no other walk's beginning */
		return &s->switching;
	}
	/* The mapping may begin here. */
	if (bpf_probe_read_user(words, sizeof(words),
				(const void *)(s->walk.pc - LEAF_FRAME_BEFORE * sizeof(*words))) &&
	    bpf_probe_read_user(words + LEAF_FRAME_BEFORE, behind * sizeof(*words),
				(const void *)s->walk.pc))
		return rule;
	s->switching = *rule;
	return leaf_frame_mend(words, &s->switching) ? &s->switching : rule;
}

/* Steps to the caller of JIT code, if the code is of a known runtime. Else it ends the walk with
 * STACKD_END_NO_RECIPE: the daemon derives a rule from the code, whose bytes the kernel half sends
 * along (jit_code.bpf.h). */
static __always_inline int step_from_jit_code(struct scratch *s)
{
	int end = runtime_step_in_code(s);

	return end == RUNTIME_NOT ? STACKD_END_NO_RECIPE : end;
}

/* Steps from a signal's frame to the interrupted function. A global function, so that the BPF
 * verifier checks its loop once. */
__noinline int step_from_signal(struct scratch *given, int cfa_offset)
{
	struct scratch *s = CHECKED(given);

	return s ? walk_signal(&s->walk, cfa_offset) : STACKD_END_UNREADABLE;
}

/* Steps to the caller by a rule. Returns WALK_GO_ON, WALK_AGAIN, WALK_MANAGED or an end reason. */
static __always_inline int step_by_rule(struct scratch *s, const struct stackd_rule *rule)
{
	int end;

	if (rule->cfa == STACKD_CFA_DAEMON)
		return STACKD_END_BAD_RECIPE;
	if (rule->cfa == STACKD_CFA_SWITCH)
		return STACKD_END_STACK_SWITCH;
	if (runtime_has_rule(rule))
		return runtime_step_by_rule(s, rule);
	if (s->walk.is_exact && is_realigned(rule) && at_return(s->walk.pc))
		return STACKD_END_BAD_RECIPE;
	if (rule->cfa == STACKD_CFA_NONE)
		return s->location >> 48 == STACKD_FILE_NONE ? step_from_jit_code(s)
							     : STACKD_END_NO_RECIPE;
	if (rule->cfa == STACKD_CFA_SIGNAL)
		return step_from_signal(s, rule->cfa_offset);
	if (RARELY(rule->cfa == STACKD_CFA_EVAL))
		s->managed.low = s->walk.r[STACKD_REG_SP];
	end = walk_step_plain(&s->walk, rule);
	return RARELY(rule->cfa == STACKD_CFA_EVAL) && end == WALK_GO_ON ? WALK_MANAGED : end;
}

#endif
