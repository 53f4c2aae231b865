/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps from a thread's system stack to the stack of the goroutine that it runs, in Go programs,
 * and back if C code on the system stack has called Go.
 *
 * Rules of the kinds GOROUTINE, DEPTH and CALLBACK say where the runtime itself finds that stack
 * when it returns there (go_stack.h). The words that are read there are checked: the goroutine must
 * be this thread's, its stack pointer must be within its stack, and the walk's present frame must
 * not be on that stack already. If a check fails, the path ends.
 *
 * These words are not on a stack, so the comparison with remembered frames (prefix.bpf.h) would not
 * notice that they change. So a walk that has used them is not remembered. The thread's last
 * remembered walk may still match on the goroutine's stack.
 */
#ifndef RUNTIME_GO_BPF_H
#define RUNTIME_GO_BPF_H

#include "runtime_base.bpf.h"
#include "scratch.bpf.h"

#include "../arch/code.bpf.h"

/* value of cfa_add: the register has a return address that was popped into it */
#define POPPED 2
/* value of system_sp: there is no earlier callback. It is an address on no stack */
#define NO_CALLBACK 1

/* Returns whether only Go's tables have rules of this kind. */
static __always_inline bool go_has_rule(const struct stackd_rule *rule)
{
	return rule->cfa == STACKD_CFA_GOROUTINE || rule->cfa == STACKD_CFA_DEPTH ||
	       rule->cfa == STACKD_CFA_CALLBACK;
}

/* Returns whether an address is in the stack of a g, whose first field is the bounds of its stack.
 */
static __always_inline bool is_on_stack_of(__u64 g, __u64 address)
{
	__u64 bounds[2];

	return !bpf_probe_read_user(bounds, sizeof(bounds), (const void *)g) &&
	       bounds[0] < bounds[1] && address - bounds[0] < bounds[1] - bounds[0];
}

/* Steps out of gogo after it has loaded a goroutine's stack pointer, and before it jumps to the
 * goroutine's pc. A register points to that pc, or has it if cfa_add is not 0. Also steps out of
 * rawVforkSyscall, while that has its return address in a register. */
static __always_inline int step_into(struct walk *w, const struct stackd_rule *rule)
{
	__u64 pc = w->r[rule->reg & (WALK_REGS - 1)];

	if (!walk_is_valid(w, rule->reg))
		return w->is_lean ? WALK_AGAIN : STACKD_END_STACK_SWITCH;
	if (!rule->cfa_add && !read_apart(pc, rule->cfa_offset, &pc))
		return STACKD_END_UNREADABLE;
	return arrive(w, w->r[STACKD_REG_SP], pc, rule->cfa_add != POPPED);
}

/* Steps to the goroutine that the thread of g runs. The goroutine's g has its saved pc and stack
 * pointer. A walk does this at most once, since a goroutine has left its stack at only one
 * location. */
static __always_inline int step_to_goroutine(struct walk *w, const struct stackd_rule *rule)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool is_called_by_pc = !rule->ra_offset;
	__u64 g, thread, goroutine, its_thread, sched[2], cfa;

	if (w->has_left || !read_apart(ARCH_THREAD_POINTER(task), rule->cfa_offset, &g) ||
	    !read_apart(g, rule->saved[0], &thread) ||
	    !read_apart(thread, rule->saved[1], &goroutine))
		return STACKD_END_STACK_SWITCH;
	if (!goroutine || w->is_scheduler)
		return is_called_by_pc ? STACKD_END_ENTRY : STACKD_END_STACK_SWITCH;
	if (!read_apart(goroutine, rule->saved[0], &its_thread) || its_thread != thread ||
	    bpf_probe_read_user(sched, sizeof(sched),
				(const void *)(goroutine + (__s64)rule->saved[2])) ||
	    !is_on_stack_of(goroutine, sched[0]) || is_on_stack_of(goroutine, w->r[STACKD_REG_SP]))
		return STACKD_END_STACK_SWITCH;
	w->has_left = 1;
	cfa = sched[0] + (__s64)rule->cfa_add;
	if (!is_called_by_pc && !read_apart(cfa, -8, &sched[1]))
		return STACKD_END_UNREADABLE;
	return arrive(w, cfa, sched[1], false);
}

/* Steps to the goroutine by two values in a frame on the system stack: its g, and the depth of its
 * stack pointer below the end of its stack. */
static __always_inline int step_by_depth(struct walk *w, const struct stackd_rule *rule)
{
	__u64 own = w->r[STACKD_REG_SP], g, hi, depth, sp, cfa, pc;

	if (!read_apart(own, rule->cfa_offset, &g) || !read_apart(own, rule->saved[1], &depth) ||
	    !read_apart(g, rule->saved[0], &hi))
		return STACKD_END_STACK_SWITCH;
	sp = hi - depth;
	if (!is_on_stack_of(g, sp) || (is_on_stack_of(g, own) && sp <= own))
		return STACKD_END_STACK_SWITCH;
	cfa = sp + (__s64)rule->cfa_add;
	if (!read_apart(cfa, -8, &pc))
		return STACKD_END_UNREADABLE;
	return arrive(w, cfa, pc, false);
}

/* Steps from a goroutine's stack to the C code that called Go. g0 has the stack pointer at which
 * the last callback left the system stack, and each callback has saved the stack pointer of the
 * callback before it. */
static __always_inline int step_to_c(struct walk *w, const struct stackd_rule *rule)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 g, thread, g0, sp, saved, before = w->system_sp, cfa, pc;

	if (!read_apart(ARCH_THREAD_POINTER(task), rule->cfa_offset, &g) ||
	    !read_apart(g, rule->saved[0], &thread) || !read_apart(thread, rule->saved[1], &g0) ||
	    (!before && !read_apart(g0, rule->saved[2], &sp)))
		return STACKD_END_STACK_SWITCH;
	if (before)
		sp = before;
	cfa = sp + (__s64)rule->cfa_add;
	if (is_on_stack_of(g0, w->r[STACKD_REG_SP]) || !is_on_stack_of(g0, sp) ||
	    !read_apart(sp, rule->saved[3], &saved) || !read_apart(cfa, -8, &pc) ||
	    !follows_call(pc))
		return STACKD_END_STACK_SWITCH;
	w->system_sp = saved > sp ? saved : NO_CALLBACK;
	return arrive(w, cfa, pc, false);
}

/* Steps by the rule in s->switching. Returns WALK_GO_ON, WALK_AGAIN or an end reason. A global
 * function, so that the BPF verifier checks it once. */
__noinline int step_to_other_stack(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return STACKD_END_STACK_SWITCH;
	s->walk.is_once = 1;
	if (s->switching.reg != STACKD_REG_SP)
		return step_into(&s->walk, &s->switching);
	if (s->switching.cfa == STACKD_CFA_CALLBACK)
		return step_to_c(&s->walk, &s->switching);
	return s->switching.cfa == STACKD_CFA_DEPTH ? step_by_depth(&s->walk, &s->switching)
						    : step_to_goroutine(&s->walk, &s->switching);
}

#endif
