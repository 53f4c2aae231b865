/* SPDX-License-Identifier: GPL-2.0-only */
/* A walk's step to the caller: by a rule, or by the frame pointer where there is none. */
#ifndef STEP_BPF_H
#define STEP_BPF_H

#include "beam.bpf.h"
#include "code.bpf.h"
#include "goroutine.bpf.h"
#include "scratch.bpf.h"
#include "window.bpf.h"

/* Processes whose code made at run time keeps no frame pointer. The daemon reads that code, so it
 * walks such stacks. (A process that gets the number of one that has ended costs more until it is
 * evicted.) */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* thread group id */
	__type(value, __u32);
} left_code SEC(".maps");

/* Whether there are any: 0 saves the look-up. */
__u32 has_left_code;

static __always_inline bool is_left(const struct scratch *s)
{
	__u32 pid = s->record.pid;

	return has_left_code && CHECKED(bpf_map_lookup_elem(&left_code, &pid));
}

/* A rule of a function that realigns its stack: something in it stands at a distance from rbp. */
static __always_inline bool is_realigned(const struct stackd_rule *rule)
{
	return rule->cfa == STACKD_CFA_DEREF || rule->saved_via_reg;
}

/* To the caller whose return address is in `slot`, if it is one. */
static __always_inline int step_to(struct walk *w, __u64 slot)
{
	__u64 pc;

	if (walk_read(w, slot, &pc) || !follows_call(pc))
		return STACKD_END_NO_RECIPE;
	w->r[STACKD_REG_RSP] = slot + 8;
	walk_keep(w);
	w->pc = pc;
	w->slot = slot;
	w->deref = 0;
	w->is_exact = 0;
	return WALK_GO_ON;
}

/* Code that a program has made itself has no recipe: a step by the frame pointer, if what it finds
 * is a return address. (Of a file's code without a recipe more can be told than that, by its
 * symbols and its bytes: the daemon does.) */
static __always_inline int step_by_frame_pointer(struct scratch *s)
{
	struct walk *w = &s->walk;
	__u64 rsp = w->r[STACKD_REG_RSP], rbp = w->r[STACKD_REG_RBP];
	int leaf, end;

	if (is_left(s))
		return STACKD_END_NO_RECIPE;
	leaf = w->is_exact ? leaf_at(w->pc) : STACKD_LEAF_MADE;
	if (leaf == STACKD_LEAF_PUSHED)
		rbp = rsp;
	if (leaf != STACKD_LEAF_NONE && (!walk_is_valid(w, STACKD_REG_RBP) || rbp & 7 || rbp < rsp))
		return STACKD_END_NO_RECIPE;
	end = step_to(w, leaf == STACKD_LEAF_NONE ? rsp : rbp + 8);
	if (end == WALK_GO_ON && leaf != STACKD_LEAF_NONE && walk_restore(w, STACKD_REG_RBP, rbp))
		end = STACKD_END_NO_RECIPE;
	if (end == WALK_GO_ON)
		w->frame++;
	return end;
}

/* Out of code that no file has. */
static __always_inline int step_from_made_code(struct scratch *s)
{
	int end = has_beams ? step_in_beam(s) : BEAM_NOT;

	return end == BEAM_NOT ? step_by_frame_pointer(s) : end;
}

/* To the caller. WALK_GO_ON, WALK_AGAIN or an end reason. */
static __always_inline int step_by_rule(struct scratch *s, const struct stackd_rule *rule)
{
	if (rule->cfa == STACKD_CFA_DAEMON)
		return STACKD_END_BAD_RECIPE;
	if (rule->cfa == STACKD_CFA_SWITCH)
		return STACKD_END_STACK_SWITCH;
	if (rule->cfa == STACKD_CFA_GOROUTINE || rule->cfa == STACKD_CFA_DEPTH ||
	    rule->cfa == STACKD_CFA_CALLBACK) {
		s->switching = *rule;
		return step_to_other_stack(s);
	}
	if (s->walk.is_exact && is_realigned(rule) && at_return(s->walk.pc))
		return STACKD_END_BAD_RECIPE;
	if (rule->cfa == STACKD_CFA_NONE)
		return s->location >> 48 == STACKD_FILE_NONE ? step_from_made_code(s)
							     : STACKD_END_NO_RECIPE;
	return walk_step(&s->walk, rule);
}

#endif
