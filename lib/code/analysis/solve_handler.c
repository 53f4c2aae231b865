/* SPDX-License-Identifier: MIT */
/*
 * Handlers of exceptions that code links by itself, as OCaml's does; see solve_internal.h.
 *
 *   R = address of the handler; push R     the record: where the handler is,
 *   push the runtime's word                and the record before it
 *   store the stack pointer to that word   it is the last one now
 *
 * Code that raises an exception loads the stack pointer from there, pops the record before, and
 * returns to the handler. So the handler has the frame of before the first push, and its registers
 * hold nothing that is known.
 */
#include "analysis/solve_internal.h"

/* Whether a path's instruction begins the three above; then the last of them is the path's link. */
static bool links_handler(const struct solver *s, struct path *p, uint32_t *ret_handler)
{
	uint32_t at = p->w.at + p->insn.length, end = code_end(p->area);
	uint64_t target;
	struct insn i;

	if (p->insn.op != INSN_PUSH || p->insn.src >= INSN_NO_REG ||
	    !jump_hints_known(&p->hints, p->insn.src, &target))
		return false;
	*ret_handler = code_find(s->code, target);
	if (*ret_handler == CODE_NONE || !(s->code->marks[*ret_handler] & CODE_SWEPT) ||
	    at >= end || !code_decode(s->code, p->area, at, &i) || i.op != INSN_PUSH)
		return false;
	at += i.length;
	if (at >= end || !code_decode(s->code, p->area, at, &i) || i.src != INSN_SP ||
	    (i.op != INSN_STORE && (i.op != INSN_COPY || i.disp)))
		return false;
	p->links = at;
	return true;
}

int solve_follow_handler(struct solver *s, struct path *p)
{
	struct frame_state state = *states_get(&s->states, p->w.state);
	struct work_item w = {.owner = p->w.owner, .hints = HINT_POOL_NONE};

	if (!links_handler(s, p, &w.at))
		return 0;
	frame_state_land(&state);
	w.state = states_number(&s->states, &state);
	return w.state == STATES_NONE ? -ENOMEM : worklist_push(&s->strong, &w);
}
