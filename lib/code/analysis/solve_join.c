/* SPDX-License-Identifier: MIT */
/*
 * Handles a path that reaches an instruction, which another path may have reached before, with the
 * same frame or a different one; see solve.h. If two owners contradict each other, the one that is
 * less likely to be a function is dropped.
 */
#include "analysis/solve_internal.h"

/* Returns whether an owner is never united with another one. */
static bool is_apart(const struct solver *s, uint32_t owner)
{
	return s->owners.items.items[owner].part_of;
}

/* Handles a path that reaches code with the same frame. */
static int meet(struct solver *s, const struct work_item *w)
{
	uint32_t other = solve_owner_at(s, w->at);

	if (other == w->owner ||
	    (solve_is_guess(s, other) && owners_get(&s->owners, other)->failed))
		return 0;
	if (solve_is_guess(s, other) &&
	    solve_is_pinned(s, w->at)) { /* the path runs into a function's start */
		if (owners_lean_on(&s->owners, w->owner, other))
			return -ENOMEM;
	} else if (is_apart(s, w->owner)) {
		/* The path may be a part of a certain function (part_of). Leans on that function if
		 * this code is its. */
		if (s->owners.items.items[w->owner].part_of == solve_function_of(s, other) + 1 &&
		    owners_lean_on(&s->owners, w->owner, other))
			return -ENOMEM;
	} else if (!solve_is_guess(s, other)) {
		owners_confirm(&s->owners, w->owner);
	} else if (!is_apart(s, other)) {
		/* Perhaps they are parts of one function, so they are judged together. */
		owners_unite(&s->owners, other, w->owner);
	}
	if (entered_pass(&s->entered, solve_function_of(s, w->owner), solve_function_of(s, other)))
		return -ENOMEM;
	return returns_follow(&s->returns, solve_function_of(s, w->owner),
			      solve_function_of(s, other));
}

/* Returns whether the code at a byte only traps. */
static bool traps(const struct solver *s, uint32_t at)
{
	const struct code_area *area = code_area_of(s->code, at);
	struct insn i;

	for (int n = 0; n < 4 && at < code_end(area); n++, at += i.length) {
		if (!code_decode(s->code, area, at, &i) ||
		    (i.flow != INSN_NEXT && i.flow != INSN_STOP))
			return false;
		if (i.flow == INSN_STOP)
			return true;
	}
	return false;
}

/* Returns whether two states have the stack pointer at different distances from the CFA. */
static bool are_apart(const struct frame_state *a, const struct frame_state *b)
{
	return a->reg[INSN_SP].origin == FRAME_CFA && b->reg[INSN_SP].origin == FRAME_CFA &&
	       a->reg[INSN_SP].offset != b->reg[INSN_SP].offset;
}

/* Returns whether an owner's function is one for certain: it is called, or saves registers. */
static bool is_called(const struct solver *s, uint32_t owner)
{
	uint32_t function = solve_function_of(s, owner);

	return s->code->marks[s->begins.items[function]] & CODE_CALLED ||
	       s->returns.functions.items[function].pushes;
}

/* Handles a guess that reaches another owner's code in another state. Returns 1: the frame is the
 * same, and the states are to be joined; 0: they are not to be joined; -ENOMEM. A guess that leads
 * into code with a known, different frame is wrong. But both may end in a third function; parts of
 * several functions can share code that only traps; and a function may jump into the middle of
 * another, so that neither frame is certain there. */
static int meet_other(struct solver *s, const struct work_item *w, struct flow_item *item,
		      bool is_weak)
{
	const struct frame_state *ours = states_get(&s->states, w->state);
	const struct frame_state *theirs = states_get(&s->states, item->state);

	if (frame_state_is_at_return(ours) && frame_state_is_at_return(theirs)) {
		int err = entered_follow(&s->entered, solve_function_of(s, w->owner),
					 solve_function_of(s, item->owner));

		return err ? err : owners_lean_on(&s->owners, w->owner, item->owner);
	}
	if (frame_state_is_same_frame(ours, theirs)) {
		bool is_one = !is_apart(s, w->owner) && !is_apart(s, item->owner);

		return meet(s, w) ? -ENOMEM : is_one;
	}
	if (is_weak || !frame_state_is_known(theirs))
		return 0;
	if (traps(s, w->at)) {
		item->state = STATES_UNKNOWN;
		return 0;
	}
	if (are_apart(ours, theirs) && is_called(s, w->owner) && is_called(s, item->owner))
		return 1;
	solve_fail(s, w->owner, ANALYSIS_ABSTAINED_CFA);
	return 0;
}

/* Handles a path that reaches an instruction in another state than an earlier path. Returns as
 * arrive(). */
static int join(struct solver *s, struct work_item *w, bool is_weak)
{
	struct flow_item *item = flow_map_find(&s->flow, w->at);
	uint32_t before = item->state, other = item->owner;
	struct frame_state joined;
	int err = returns_follow(&s->returns, solve_function_of(s, w->owner),
				 solve_function_of(s, other));

	if (err)
		return err;
	if (solve_is_guess(s, w->owner) && other != w->owner) {
		int is_one = meet_other(s, w, item, is_weak);

		if (is_one <= 0)
			return is_one;
	}
	if (solve_is_pinned(s, w->at) || is_weak)
		return 0;
	joined = *states_get(&s->states, before);
	if (!frame_state_join(&joined, states_get(&s->states, w->state)))
		return 0;
	w->state = STATES_UNKNOWN;
	if ((item->visits & SOLVE_VISITS_MASK) < SOLVE_MAX_VISITS) {
		item->visits++;
		w->state = states_number(&s->states, &joined);
	}
	if (w->state == STATES_NONE)
		return -ENOMEM;
	item->state = w->state;
	return w->state != before;
}

bool solve_has_failed(const struct solver *s, uint32_t at)
{
	struct flow_item item = flow_map_get(&s->flow, at);

	return item.state && solve_is_guess(s, item.owner) &&
	       owners_get(&s->owners, item.owner)->failed &&
	       (item.visits & SOLVE_VISITS_MASK) < SOLVE_MAX_VISITS;
}

bool solve_is_less_likely(const struct solver *s, uint32_t at, uint32_t owner)
{
	return solve_is_guess(s, solve_owner_at(s, at)) &&
	       !owners_get(&s->owners, solve_owner_at(s, at))->is_confirmed &&
	       (!solve_is_guess(s, owner) || owners_get(&s->owners, owner)->is_confirmed);
}

/* Returns whether an owner begins where only a pointer leads, so that it may not be a function. */
static bool is_pointed(const struct solver *s, uint32_t owner)
{
	return s->owners.items.items[owner].is_pointed;
}

/* Takes over a byte from a guess that has failed: gives it the path's state and owner. */
static void take_over(struct solver *s, const struct work_item *w)
{
	struct flow_item *item = flow_map_find(&s->flow, w->at);

	item->visits = solve_is_guess(s, w->owner) ? item->visits + 1 : 0;
	s->code->marks[w->at] &= (uint8_t)~CODE_PINNED;
	item->state = w->state;
	item->owner = w->owner;
}

/* Joins the state of a path with the known state at its instruction. Returns 1: the path continues,
 * with the state in w->state; 0: it ends; -ENOMEM. */
static int arrive(struct solver *s, struct work_item *w, bool is_weak)
{
	struct flow_item *item;

	if (solve_has_failed(s, w->at) && !owners_get(&s->owners, w->owner)->failed) {
		/* Parts of an interpreter share code, so only one of them is tried. */
		if (is_pointed(s, w->owner) && is_pointed(s, solve_owner_at(s, w->at))) {
			solve_fail(s, w->owner, ANALYSIS_ABSTAINED_RETURN);
			return 0;
		}
		take_over(s, w);
		return 1;
	}
	if (solve_is_pinned(s, w->at) && w->state != STATES_ENTRY)
		return returns_follow(&s->returns, solve_function_of(s, w->owner),
				      solve_function_of(s, solve_owner_at(s, w->at)));
	item = flow_map_enter(&s->flow, w->at);
	if (!item)
		return -ENOMEM;
	if (!item->state) {
		item->state = w->state;
		item->owner = w->owner;
		return 1;
	}
	if (item->state == w->state)
		return meet(s, w);
	if (!is_weak && solve_owner_at(s, w->at) != w->owner &&
	    solve_is_less_likely(s, w->at, w->owner)) {
		solve_fail(s, solve_owner_at(s, w->at), ANALYSIS_ABSTAINED_CFA);
		if (solve_has_failed(s, w->at)) {
			take_over(s, w);
			return 1;
		}
	}
	return join(s, w, is_weak);
}

/* Adds a code address, which a path has brought along in a register, to a function. Returns 0 or
 * -ENOMEM. */
static int bring_label(struct solver *s, uint32_t function, unsigned reg, uint32_t label)
{
	uint32_t owner;

	if (label == CODE_NONE || (solve_is_pinned(s, label) && !solve_has_failed(s, label)) ||
	    !(s->code->marks[label] & CODE_SWEPT) ||
	    computed_jumps_has(&s->labels, function, reg, label))
		return 0;
	if (owners_add(&s->owners, function, &owner))
		return -ENOMEM;
	return computed_jumps_add(&s->labels, function, reg, label, owner);
}

int solve_bring_labels(struct solver *s, const struct path *p, uint32_t at)
{
	uint32_t function = solve_function_of(s, solve_owner_at(s, at));
	uint64_t target;
	int err = 0;

	if (!solve_is_guess(s, p->w.owner) || !p->hints.has_any)
		return 0;
	if (solve_is_pinned(s, at) ? p->w.state != STATES_ENTRY
				   : !solve_state_at(s, at) || solve_state_at(s, at) != p->w.state)
		return 0;
	for (unsigned reg = 0; reg < INSN_REG_COUNT && !err; reg++) {
		if (jump_hints_known(&p->hints, reg, &target))
			err = bring_label(s, function, reg, code_find(s->code, target));
	}
	return err;
}

int solve_come(struct solver *s, struct path *p, bool is_weak)
{
	if (solve_owner_at(s, p->w.at) != p->w.owner && solve_bring_labels(s, p, p->w.at))
		return -ENOMEM;
	return arrive(s, &p->w, is_weak);
}
