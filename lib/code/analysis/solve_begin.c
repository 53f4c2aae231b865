/* SPDX-License-Identifier: MIT */
/* What tells a function that was not seen to return from a part of one: how it makes its frame. See
 * solve_internal.h. */
#include "analysis/solve_internal.h"

#define CALL_ALIGN  16 /* bytes that the stack is aligned to where functions are called */
#define MAX_SAVED   8  /* instructions that a function begins with, */
#define MANY_OTHERS 3  /* and pushes among them of registers that it need not preserve */

/* Whether the code at a path's instruction saves registers that functions need not preserve: it
 * goes on with what it has interrupted, and no call leads there. */
static bool saves_everything(const struct solver *s, const struct path *p)
{
	uint32_t at = p->w.at;
	unsigned others = 0;
	struct insn i;

	for (unsigned n = 0; n < MAX_SAVED && at < code_end(p->area); n++, at += i.length) {
		if (!code_decode(s->code, p->area, at, &i) || i.op != INSN_PUSH)
			break;
		others += i.src < INSN_NO_REG && !insn_saves_register(&i);
	}
	return others >= MANY_OTHERS;
}

/* Whether a function's first instruction, or that behind its mark, makes a frame or saves a
 * register, as code that only parts of functions begin with does not: it may be one that never
 * returns. */
static bool begins_function(const struct solver *s, const struct path *p)
{
	bool makes_frame = p->insn.op == INSN_COPY && p->insn.dst == INSN_SP &&
			   p->insn.src == INSN_SP && p->insn.disp < 0;

	return p->w.state == STATES_ENTRY && (makes_frame || insn_saves_register(&p->insn)) &&
	       (solve_is_pinned(s, p->w.at) || (p->w.at >= 4 && solve_is_pinned(s, p->w.at - 4))) &&
	       !saves_everything(s, p);
}

/* Whether a path that has come to no branch yet has made a frame, and comes to its first call with
 * the stack aligned as calls want it: it was aligned as at a function's start. Within a function
 * the stack is aligned before arguments are pushed, too. */
static bool has_made_frame(const struct solver *s, const struct path *p)
{
	const struct frame_state *state = states_get(&s->states, p->w.state);
	struct frame_value top = state->reg[INSN_SP];

	return p->is_straight && top.origin == FRAME_CFA && top.offset < -8 &&
	       !(top.offset % CALL_ALIGN) && !(state->changed & FRAME_USED_CALLERS);
}

bool solve_begins_straight(const struct solver *s, const struct code_area *area,
			   const struct work_item *w)
{
	return w->state == STATES_ENTRY && solve_is_pinned(s, w->at) &&
	       !(s->code->marks[w->at] & CODE_LEADER) &&
	       !(code_vaddr(area, w->at) % CODE_FUNCTION_ALIGN);
}

bool solve_shows_function(const struct solver *s, const struct path *p)
{
	bool is_call = p->insn.flow == INSN_CALL || p->insn.flow == INSN_CALL_INDIRECT;

	return begins_function(s, p) || (is_call && has_made_frame(s, p));
}
