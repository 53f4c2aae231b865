/* SPDX-License-Identifier: MIT */
/*
 * Finds the targets of calls, and whether a path continues after one: if the callee is in the same
 * code, the path waits until the callee is seen to return; see solve.h.
 */
#include "analysis/solve_internal.h"

int solve_find_callee(struct solver *s, const struct insn *i, uint32_t *ret_callee)
{
	uint64_t vaddr = noreturn_callee(s->noreturn, s->code->elf, i);

	*ret_callee = vaddr ? code_find(s->code, vaddr) : CODE_NONE;
	return *ret_callee == CODE_NONE ? 0 : solve_begin_function(s, *ret_callee);
}

/* Continues after a call. If a function can begin there, the code gets an owner of its own, so that
 * an error there is no error before the call. */
static int follow_return(struct solver *s, const struct code_area *area, struct work_item *w)
{
	bool is_leader = s->code->marks[w->at] & CODE_LEADER;

	if (!is_leader && !(code_vaddr(area, w->at) % CODE_FUNCTION_ALIGN) &&
	    !solve_state_at(s, w->at) && !solve_is_guess(s, w->owner) &&
	    owners_add_doubt(&s->owners, w->at, w->owner, &w->owner))
		return -ENOMEM;
	return worklist_push(is_leader ? &s->weak : &s->strong, w);
}

/* Returns whether the instruction after a call is one that compilers emit after calls that do not
 * return. */
static bool stops_at(const struct solver *s, const struct code_area *area, uint32_t at)
{
	struct insn i;

	return at < code_end(area) && code_decode(s->code, area, at, &i) && i.flow == INSN_STOP &&
	       !i.is_padding;
}

/* Notes the code behind the trap at byte `at`, which follows the path's call, if the frame is set
 * up. Where functions are aligned, the next one may begin there. */
static int note_trapped(struct solver *s, const struct path *p, uint32_t at)
{
	struct frame_state state = *states_get(&s->states, p->w.state);
	struct work_item w = {.owner = p->w.owner, .hints = HINT_POOL_NONE};
	struct insn i;

	if (!s->needs_returns || !frame_state_is_framed(&state) || at >= code_end(p->area) ||
	    !code_decode(s->code, p->area, at, &i) || i.flow != INSN_STOP)
		return 0;
	w.at = at + i.length;
	if (w.at >= code_end(p->area) || !(code_vaddr(p->area, w.at) % CODE_FUNCTION_ALIGN))
		return 0;
	frame_state_enter(&state);
	w.state = states_number(&s->states, &state);
	return w.state == STATES_NONE ? -ENOMEM : worklist_push(&s->trapped, &w);
}

int solve_follow_call(struct solver *s, struct path *p)
{
	const struct insn *i = &p->insn;
	uint32_t stub = i->flow == INSN_CALL ? code_find(s->code, i->target) : CODE_NONE;
	uint32_t at = p->w.at + i->length, callee;
	int err = stub == CODE_NONE ? 0 : solve_begin_function(s, stub);

	if (!err)
		err = solve_find_callee(s, i, &callee);
	if (!err)
		err = note_trapped(s, p, at);
	if (err)
		return err;
	if (stops_at(s, p->area, at)) {
		p->w.at = at;
		p->w.hints = HINT_POOL_NONE;
		return worklist_push(&s->strong, &p->w);
	}
	if (noreturn_is_call(s->noreturn, s->code->elf, i) ||
	    (callee == CODE_NONE && i->flow == INSN_CALL &&
	     !external_may_return(&s->external, i->target)))
		return 0;
	if (at >= code_end(p->area))
		return solve_set_returns(s, p->w.owner);
	if (s->needs_returns && (code_never_returns(s->code, p->area, p->w.at, i) ||
				 !code_can_go_on(s->code, p->area, at)))
		return 0;
	if (code_ends_at(s->code, p->area, at) && !noreturn_returns(s->noreturn, s->code->elf, i))
		return 0;
	p->w.at = at;
	p->w.hints = hint_pool_keep(&s->hints, &p->hints);
	if (callee == CODE_NONE)
		return follow_return(s, p->area, &p->w);
	if (worklist_push(&s->parked, &p->w))
		return -ENOMEM;
	return returns_wait(&s->returns, solve_function_of(s, solve_owner_at(s, callee)),
			    (uint32_t)s->parked.count - 1);
}

/* Continues after a call whose callee was not seen to return. The code there may be a part of the
 * function of the call's owner, all flow of which is known. */
static int resume_apart(struct solver *s, struct work_item w)
{
	uint32_t function, owner = w.owner;

	if (VEC_RESERVE(&s->begins, 1) || returns_add(&s->returns, &function) ||
	    owners_add(&s->owners, function, &w.owner))
		return -ENOMEM;
	s->begins.items[s->begins.count++] = w.at;
	s->owners.items.items[w.owner].part_of = solve_function_of(s, owner) + 1;
	if (entered_follow(&s->entered, function, solve_function_of(s, owner)))
		return -ENOMEM;
	return worklist_push(&s->weak, &w) ? -ENOMEM : solve_drain(s);
}

int solve_resume_unclaimed(struct solver *s)
{
	int err = 0;

	for (size_t i = 0; i < s->parked.count && !err; i++) {
		const struct work_item w = s->parked.items[i];

		if (w.state != STATES_NONE && !solve_state_at(s, w.at) &&
		    !owners_get(&s->owners, w.owner)->failed)
			err = resume_apart(s, w);
	}
	return err;
}

int solve_resume_trapped(struct solver *s)
{
	int err = 0;

	for (size_t i = 0; i < s->trapped.count && !err; i++) {
		const struct work_item w = s->trapped.items[i];

		if (!owners_get(&s->owners, w.owner)->failed && !solve_state_at(s, w.at))
			err = resume_apart(s, w);
	}
	s->trapped.count = 0;
	return err;
}

/* Makes an owner that begins a function lean on the owners of the calls of it. Returns 0 or
 * -ENOMEM. */
static int lean_on_callers(struct solver *s, uint32_t owner)
{
	uint32_t function = solve_function_of(s, owner), at = s->begins.items[function];
	int err = 0;

	if (!solve_is_pinned(s, at) || solve_owner_at(s, at) != owner)
		return 0;
	for (uint32_t k = s->returns.functions.items[function].first; k && !err;) {
		const struct returns_link link = s->returns.links.items[k - 1];

		if (link.is_item)
			err = owners_lean_on(&s->owners, owner, s->parked.items[link.number].owner);
		k = link.next;
	}
	return err;
}

int solve_lean_on_callers(struct solver *s)
{
	int err = 0;

	for (size_t i = s->first_guess; i < s->owners.items.count && !err; i++) {
		const struct owner *owner = owners_get(&s->owners, (uint32_t)i);

		if (!owner->is_confirmed && !owner->failed)
			err = lean_on_callers(s, (uint32_t)i);
	}
	return err;
}

int solve_resume(struct solver *s, uint32_t item)
{
	struct work_item w = s->parked.items[item];

	s->parked.items[item].state = STATES_NONE;
	return follow_return(s, code_area_of(s->code, w.at), &w);
}
