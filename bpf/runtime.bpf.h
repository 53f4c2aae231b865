/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place of the kernel half that chooses between the steps of runtimes. A runtime can have
 * either kind of step, or both:
 *
 *   by a rule   the table of a program's file has rules of kinds that only this runtime has:
 *               NAME_has_rule(rule), step_to_other_stack(s) by s->switching
 *   bytecode    a function of a file runs it: STACKD_CFA_EVAL, a plain step, or
 *               STACKD_CFA_EVAL_REGS, step_from_interpreter(s);
 *               STACKD_CFA_COPIED: the daemon walks
 *   in code     the code is in no file: step_in_NAME(s), once user space has sent the facts about
 *               the process (stackd_runtimes.h)
 */
#ifndef RUNTIME_BPF_H
#define RUNTIME_BPF_H

#include "runtime_beam.bpf.h"
#include "runtime_go.bpf.h"

/* A step's result: WALK_GO_ON, out of a function that runs bytecode. */
#define WALK_MANAGED 252
/* the same out of Ruby's, PHP's or Perl's, by registers */
#define WALK_MANAGED_REGS 251

/* Returns whether a rule is of a kind that only a runtime has, but for the plain one of functions
 * that run Python's bytecode. */
static __always_inline bool runtime_has_rule(const struct stackd_rule *rule)
{
	return go_has_rule(rule) || rule->cfa > STACKD_CFA_EVAL;
}

__noinline int runtime_step(struct scratch *given); /* managed.bpf.h */

/* Steps to the caller by such a rule. Returns WALK_GO_ON, WALK_AGAIN, an end reason, or
 * WALK_MANAGED or WALK_MANAGED_REGS: it has stepped, and managed frames precede the walk's frame
 * (managed.bpf.h, managed_ruby.bpf.h, managed_php.bpf.h, managed_perl.bpf.h). */
static __always_inline int runtime_step_by_rule(struct scratch *s, const struct stackd_rule *rule)
{
	s->switching = *rule;
	return runtime_step(s);
}

/* Steps to the caller out of code that is in no file. Returns as runtime_step_by_rule(), or
 * RUNTIME_NOT: it is not the code of a known runtime. */
static __always_inline int runtime_step_in_code(struct scratch *s)
{
	return is_runtime_told(STACKD_RUNTIME_BEAM) ? step_in_beam(s) : RUNTIME_NOT;
}

#endif
