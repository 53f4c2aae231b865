/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place of the kernel half that chooses between the steps of runtimes. A runtime can have
 * either kind of step, or both:
 *
 *   by a rule   the table of a program's file has rules of kinds that only this runtime has:
 *               NAME_has_rule(rule), step_to_other_stack(s) by s->switching
 *   in code     the code is in no file: step_in_NAME(s), once user space has sent the facts about
 *               the process (stackd_runtimes.h)
 */
#ifndef RUNTIME_BPF_H
#define RUNTIME_BPF_H

#include "runtime_beam.bpf.h"
#include "runtime_go.bpf.h"

/* Returns whether a rule is of a kind that only a runtime has. */
static __always_inline bool runtime_has_rule(const struct stackd_rule *rule)
{
	return go_has_rule(rule);
}

/* Steps by such a rule. Returns WALK_GO_ON, WALK_AGAIN or an end reason. */
static __always_inline int runtime_step_by_rule(struct scratch *s, const struct stackd_rule *rule)
{
	s->switching = *rule;
	return step_to_other_stack(s);
}

/* Steps out of code that no file has. As above, or RUNTIME_NOT: it is no runtime's that is known.
 */
static __always_inline int runtime_step_in_code(struct scratch *s)
{
	return is_runtime_told(STACKD_RUNTIME_BEAM) ? step_in_beam(s) : RUNTIME_NOT;
}

#endif
