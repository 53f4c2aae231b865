/* SPDX-License-Identifier: MIT */
/*
 * The work list; see solve.h.
 *
 * The flow map has a number for each byte of code: that of the state before the instruction that
 * begins there. A join only removes knowledge, and after SOLVE_MAX_VISITS joins a state knows
 * nothing, so the work is linear in the size of the code.
 */
#include "analysis/solve.h"

#include "analysis/solve_internal.h"
#include "arch/code_form.h"

#define CALL_ALIGN 16 /* alignment of the stack at calls */
#define MAX_SAVED  8  /* number of instructions at a function's start that are examined */
/* if so many of these push caller-saved registers, the code saves everything */
#define MANY_OTHERS 3
/* limit of the steps, plus one for each two bytes; ordinary code needs half of that */
#define FREE_STEPS 65536

int solve_push_path(struct solver *s, struct worklist *list, const struct path *p, uint32_t at,
		    uint32_t owner)
{
	struct work_item w = p->w;

	w.at = at;
	w.owner = owner;
	w.hints = hint_pool_keep(&s->hints, &p->hints);
	return worklist_push(list, &w);
}

/* Confirms an owner although it was not seen to return, unless guesses have to return. */
static void confirm_unreturned(struct solver *s, uint32_t owner)
{
	if (!s->needs_returns || !solve_is_guess(s, owner))
		owners_confirm(&s->owners, owner);
}

int solve_begin_function(struct solver *s, uint32_t at)
{
	struct work_item w = {.at = at, .state = STATES_ENTRY, .hints = HINT_POOL_NONE};
	struct flow_item *item;
	uint32_t function;

	if (solve_is_pinned(s, at))
		return 0;
	item = flow_map_enter(&s->flow, at);
	if (!item || VEC_RESERVE(&s->begins, 1) || returns_add(&s->returns, &function) ||
	    owners_add(&s->owners, function, &w.owner))
		return -ENOMEM;
	s->owners.items.items[w.owner].is_likely =
		s->code->marks[at] & (CODE_PADDED | CODE_BEHIND_CALL | CODE_ENDBR | CODE_CALLED);
	s->code->marks[at] |= CODE_PINNED;
	s->begins.items[s->begins.count++] = at;
	item->state = STATES_NONE;
	item->owner = w.owner;
	s->functions++;
	return worklist_push(&s->strong, &w);
}

/* Notes, when a path leaves its function with the stack pointer as at the start, which registers
 * its caller gets back changed. */
static void note_clobbered(struct solver *s, const struct work_item *w)
{
	returns_clobber(&s->returns, solve_function_of(s, w->owner),
			frame_state_changed(states_get(&s->states, w->state)));
}

/* --- where functions begin --------------------------------------------------------------------
 *
 * A function that was not seen to return differs from a part of a function in how it sets up its
 * frame.
 */

/* Returns whether the code at a path's instruction saves caller-saved registers. Such code resumes
 * what it has interrupted, and no call leads to it. */
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

/* Returns whether a function's first instruction, or the first after its landing pad, sets up a
 * frame or saves a register. Parts of functions do not begin so, so the code may be a function that
 * never returns. */
static bool begins_function(const struct solver *s, const struct path *p)
{
	bool makes_frame = p->insn.op == INSN_COPY && p->insn.dst == INSN_SP &&
			   p->insn.src == INSN_SP && p->insn.disp < 0;

	return p->w.state == STATES_ENTRY && (makes_frame || insn_saves_register(&p->insn)) &&
	       (solve_is_pinned(s, p->w.at) || (p->w.at >= 4 && solve_is_pinned(s, p->w.at - 4))) &&
	       !saves_everything(s, p);
}

/* Returns whether a path without branches so far has set up a frame, and reaches its first call
 * with the stack aligned as calls require, so that the stack was aligned at its start as at a
 * function's start. (Within a function, the stack is also aligned before arguments are pushed.) */
static bool has_made_frame(const struct solver *s, const struct path *p)
{
	const struct frame_state *state = states_get(&s->states, p->w.state);
	struct frame_value top = state->reg[INSN_SP];

	return p->is_straight && top.origin == FRAME_CFA && top.offset < -8 &&
	       !(top.offset % CALL_ALIGN) && !(state->changed & FRAME_USED_CALLERS);
}

/* Returns whether only a call or a pointer leads to the start of a path, which then has
 * path.is_straight. */
static bool begins_straight(const struct solver *s, const struct code_area *area,
			    const struct work_item *w)
{
	return w->state == STATES_ENTRY && solve_is_pinned(s, w->at) &&
	       !(s->code->marks[w->at] & CODE_LEADER) &&
	       !(code_vaddr(area, w->at) % CODE_FUNCTION_ALIGN);
}

/* Returns whether a path's instruction, before it is applied, shows that the path began at a
 * function's start, even if the function never returns. */
static bool shows_function(const struct solver *s, const struct path *p)
{
	bool is_call = p->insn.flow == INSN_CALL || p->insn.flow == INSN_CALL_INDIRECT;

	return begins_function(s, p) || (is_call && has_made_frame(s, p));
}

/* Notes that a path's instruction shows that the path began at a function's start. Returns 0 or
 * -ENOMEM. */
static int note_function(struct solver *s, const struct path *p)
{
	confirm_unreturned(s, p->w.owner);
	return entered_set(&s->entered, solve_function_of(s, p->w.owner), ENTERED_FRAME);
}

/* --- handlers of exceptions -------------------------------------------------------------------
 *
 * Some code, like OCaml's, links its handlers itself:
 *
 *   R = address of the handler; push R     the record: the handler's address,
 *   push the runtime's word                and the address of the previous record
 *   store the stack pointer to that word   this record is the last one now
 *
 * Code that raises an exception loads the stack pointer from that word, pops the address of the
 * previous record, and returns to the handler. So the handler has the frame of before the first
 * push, and the contents of its registers are not known.
 */

/* Returns whether a path's instruction is the first of the three above. Then the last of them
 * becomes path.links, and *ret_handler is the handler. */
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

/* Adds the path of an exception handler, if the path's instruction, which was not applied yet,
 * pushes the handler's address. Returns 0 or -ENOMEM. */
static int follow_handler(struct solver *s, struct path *p)
{
	struct frame_state state = *states_get(&s->states, p->w.state);
	struct work_item w = {.owner = p->w.owner, .hints = HINT_POOL_NONE};

	if (!links_handler(s, p, &w.at))
		return 0;
	frame_state_land(&state);
	w.state = states_number(&s->states, &state);
	return w.state == STATES_NONE ? -ENOMEM : worklist_push(&s->strong, &w);
}

/* --- landings of __builtin_setjmp()
 * ----------------------------------------------------------------
 *
 * Compilers store, into a buffer in the frame, the frame pointer, the address of an instruction of
 * the same function, and behind that the stack pointer. __builtin_longjmp() restores these two
 * pointers and jumps there: with the frame of the store, while other registers hold nothing known.
 * Ruby's interpreter catches its exceptions so.
 */

/* Returns whether the instruction at a byte saves a register. */
static bool saves_first(const struct solver *s, uint32_t at)
{
	struct insn i;

	return code_decode(s->code, code_area_of(s->code, at), at, &i) && insn_saves_register(&i);
}

/* Returns whether a byte can be such an instruction. An instruction that begins like a function is
 * refused: code that makes a context stores the address of the context's function beside two
 * pointers as well, which are those of the context's stack. */
static bool can_be_landing(const struct solver *s, uint32_t at)
{
	return at != CODE_NONE && s->code->marks[at] & CODE_SWEPT &&
	       !(s->code->marks[at] & CODE_CALLED) && !solve_is_pinned(s, at) &&
	       !(s->code->marks[at] & CODE_PADDED && saves_first(s, at));
}

/* Continues at the landing if a path's instruction, which is not applied yet, stores the stack
 * pointer behind its address, and the frame pointer is before that. Returns 0 or -ENOMEM. */
static int follow_landing(struct solver *s, struct path *p)
{
	const struct insn *i = &p->insn;
	const struct frame_state *before = states_get(&s->states, p->w.state);
	struct work_item w = {.at = p->landing, .owner = p->w.owner, .hints = HINT_POOL_NONE};
	struct frame_value base = {0};
	struct frame_state landed;
	uint64_t target;
	int64_t at;

	if (i->dst < INSN_REG_COUNT)
		base = before->reg[i->dst];
	if (base.origin == FRAME_UNKNOWN || i->src >= INSN_REG_COUNT)
		return 0;
	at = (int64_t)base.offset + i->disp;
	if (i->src == INSN_FP) {
		p->fp_origin = base.origin;
		p->fp_at = at;
	}
	if (i->src == INSN_SP && p->landing && base.origin == p->landing_origin &&
	    at == p->landing_at + (int64_t)sizeof(target) && base.origin == p->fp_origin &&
	    p->landing_at == p->fp_at + (int64_t)sizeof(target)) {
		landed = *before;
		frame_state_reduce(&landed);
		w.state = states_number(&s->states, &landed);
		return w.state == STATES_NONE ? -ENOMEM : worklist_push(&s->strong, &w);
	}
	if (!p->hints.has_any || !jump_hints_known(&p->hints, i->src, &target))
		return 0;
	w.at = code_find(s->code, target);
	p->landing = can_be_landing(s, w.at) ? w.at : 0;
	p->landing_origin = base.origin;
	p->landing_at = at;
	return 0;
}

/* --- jumps --------------------------------------------------------------------------------- */

/* Notes that a path leaves its function by a tail call: of the function that begins at byte
 * `callee`, or of one outside of the code, which returns if `returns`. Returns 0 or -ENOMEM. */
static int note_left(struct solver *s, const struct path *p, uint32_t callee, bool returns)
{
	uint32_t function = solve_function_of(s, p->w.owner);

	if (callee != CODE_NONE)
		return entered_pass(&s->entered, function,
				    solve_function_of(s, solve_owner_at(s, callee)));
	return returns ? entered_set(&s->entered, function, ENTERED_BY_CALLS) : 0;
}

/* Follows a jump out of the code, which is a tail call. The path returns if the target does
 * (`returns`), which is not known for functions in other files. */
static int leave_code(struct solver *s, const struct path *p, bool returns)
{
	uint32_t callee;
	int err = solve_find_callee(s, &p->insn, &callee);

	if (solve_is_at_return(s, &p->w)) {
		confirm_unreturned(s, p->w.owner);
		note_clobbered(s, &p->w);
		if (!err)
			err = note_left(s, p, callee, returns);
	}
	if (err || !returns)
		return err;
	if (callee == CODE_NONE)
		return solve_set_returns(s, p->w.owner);
	return returns_follow(&s->returns, solve_function_of(s, p->w.owner),
			      solve_function_of(s, solve_owner_at(s, callee)));
}

/* An interpreter has hundreds of such jumps, all with the same frame. */
static void keep_lost(struct solver *s, const struct work_item *lost)
{
	const struct frame_state *state = states_get(&s->states, lost->state);

	for (size_t i = 0; i < s->lost_count; i++) {
		const struct frame_state *kept = states_get(&s->states, s->lost[i].state);

		if (s->lost[i].owner == lost->owner &&
		    kept->reg[INSN_SP].origin == state->reg[INSN_SP].origin &&
		    kept->reg[INSN_SP].offset == state->reg[INSN_SP].offset)
			return;
	}
	if (s->lost_count == SOLVE_MAX_LOST)
		s->has_more_lost = true;
	else
		s->lost[s->lost_count++] = *lost;
}

/* Notes that the function jumps within a frame to an unknown target, with that frame. */
static int note_lost(struct solver *s, const struct work_item *w)
{
	struct frame_state state = *states_get(&s->states, w->state);
	struct work_item lost = *w;

	frame_state_reduce(&state);
	lost.state = states_number(&s->states, &state);
	if (lost.state == STATES_NONE)
		return -ENOMEM;
	keep_lost(s, &lost);
	return computed_jumps_jump(&s->labels, solve_function_of(s, w->owner), COMPUTED_JUMPS_ANY,
				   &lost);
}

/* Ends a path at a jump to an unknown target. In a guess, the jump is a tail call only if nothing
 * on the path shows that it is a part of a function, since parts of a switch end in such jumps. */
static int lose_path(struct solver *s, const struct path *p)
{
	const struct frame_state *state = states_get(&s->states, p->w.state);

	/* No call has entered the code, since it has taken more off the stack than a function
	 * may. */
	if (frame_state_is_above_return(state))
		solve_fail(s, p->w.owner, ANALYSIS_ABSTAINED_RETURN);
	if (frame_state_is_at_return(state)) {
		note_clobbered(s, &p->w);
		s->jumped += p->insn.idiom != INSN_SLOT;
		if (entered_set(&s->entered, solve_function_of(s, p->w.owner), ENTERED_JUMPS_AWAY))
			return -ENOMEM;
	}
	if (frame_state_is_at_return(state) &&
	    (!solve_is_guess(s, p->w.owner) ||
	     (s->owners.items.items[p->w.owner].is_likely && frame_state_is_function(state))))
		confirm_unreturned(s, p->w.owner);
	else if (!frame_state_is_at_return(state) && frame_state_is_known(state) &&
		 note_lost(s, &p->w))
		return -ENOMEM;
	return solve_set_returns(s, p->w.owner);
}

static int tail_call(struct solver *s, const struct path *p, uint32_t at)
{
	uint32_t owner = p->w.owner;

	if (solve_bring_labels(s, p, at))
		return -ENOMEM;
	if (solve_is_at_return(s, &p->w)) {
		note_clobbered(s, &p->w);
		if (note_left(s, p, at, true))
			return -ENOMEM;
	}
	if (!solve_is_at_return(s, &p->w))
		solve_fail(s, owner, ANALYSIS_ABSTAINED_RETURN);
	else if (!solve_is_guess(s, owner))
		owners_confirm(&s->owners, owner);
	else if (frame_state_is_function(states_get(&s->states, p->w.state)) &&
		 owners_lean_on(&s->owners, owner, solve_owner_at(s, at)))
		return -ENOMEM;
	return returns_follow(&s->returns, solve_function_of(s, owner),
			      solve_function_of(s, solve_owner_at(s, at)));
}

/* Returns whether a guess's jump is a tail call of code after padding that begins as functions
 * do. */
static bool begins_behind_padding(const struct solver *s, const struct path *p, uint32_t at)
{
	return solve_is_guess(s, p->w.owner) && solve_is_at_return(s, &p->w) &&
	       !solve_state_at(s, at) && s->code->marks[at] & CODE_PADDED && saves_first(s, at);
}

/* Returns whether a branch within a frame leads to the start of another function. Compilers emit
 * such branches for cases that never happen, if no code follows the branch's function. */
static bool never_comes(const struct solver *s, const struct path *p, uint32_t at)
{
	if (p->insn.flow != INSN_BRANCH || !frame_state_is_made(states_get(&s->states, p->w.state)))
		return false;
	if ((solve_is_pinned(s, at) || solve_state_at(s, at) == STATES_ENTRY) &&
	    !solve_is_guess(s, solve_owner_at(s, at)) && saves_first(s, at))
		return true;
	return solve_leads_behind(s, at);
}

/* Returns whether the code at a byte counts as a function's start only because of the padding
 * before it. If a jump from the middle of a frame leads there, it is a part of that frame's
 * function. */
static bool is_hardly_function(const struct solver *s, uint32_t at)
{
	return !(s->code->marks[at] & (CODE_CALLED | CODE_POINTED | CODE_ENDBR)) &&
	       solve_is_guess(s, solve_owner_at(s, at)) &&
	       !owners_get(&s->owners, solve_owner_at(s, at))->is_confirmed && !saves_first(s, at);
}

/* Follows a jump or a branch to its target. */
static int follow_jump(struct solver *s, const struct path *p, uint64_t target)
{
	uint32_t at = code_find(s->code, target), owner = p->w.owner;
	int put_off;

	if (at == CODE_NONE)
		return leave_code(s, p,
				  !noreturn_has_function(s->noreturn, s->code->elf, target) &&
					  external_may_return(&s->external, target));
	if (never_comes(s, p, at))
		return 0;
	put_off = solve_put_off(s, p, at);
	if (put_off)
		return put_off < 0 ? put_off : 0;
	/* The target of a jump within a frame is hardly a function's start. */
	if (solve_is_pinned(s, at) && !solve_is_at_return(s, &p->w) &&
	    (solve_is_less_likely(s, at, owner) || is_hardly_function(s, at)))
		solve_fail(s, solve_owner_at(s, at), ANALYSIS_ABSTAINED_CFA);
	if (begins_behind_padding(s, p, at) && solve_begin_function(s, at))
		return -ENOMEM;
	if (solve_is_pinned(s, at) && !solve_has_failed(s, at))
		return tail_call(s, p, at);
	/* The jump may be a tail call, so its target gets an owner of its own: if that fails, this
	 * path does not. */
	if (p->w.state == STATES_ENTRY && !solve_is_guess(s, owner) &&
	    owners_add(&s->owners, solve_function_of(s, owner), &owner))
		return -ENOMEM;
	return solve_push_path(s, &s->strong, p, at, owner);
}

static int follow_indirect(struct solver *s, const struct path *p)
{
	struct jump_table table;
	uint64_t target;
	int found;

	if (p->insn.idiom == INSN_SLOT)
		return leave_code(s, p, !noreturn_has_slot(s->noreturn, p->insn.target));
	if (frame_state_has_left(states_get(&s->states, p->w.state)))
		return 0;
	if (jump_hints_table(&p->hints, &p->insn, &table) && !table.is_inside) {
		found = solve_follow_table(s, p, &table);
		return found ? (found < 0 ? found : 0) : lose_path(s, p);
	}
	if (p->insn.src < INSN_REG_COUNT &&
	    computed_jumps_jump(&s->labels, solve_function_of(s, p->w.owner), p->insn.src, &p->w))
		return -ENOMEM;
	if (jump_hints_target(&p->hints, &p->insn, &target))
		return follow_jump(s, p, target);
	/* The unwinder's jump to another function's exception handler is not a return. */
	return code_is_eh_return(p->area, p->w.at) ? 0 : lose_path(s, p);
}

/* --- flow ---------------------------------------------------------------------------------- */

/* Ends a path at a return; a return to an exception handler does not count. If the stack pointer is
 * not known, the path may still be right, since the rules before its loss hold. But such a return
 * leads away, as a jump to an unknown target does. */
static int leave_function(struct solver *s, const struct work_item *w)
{
	if (!frame_state_is_known(states_get(&s->states, w->state)) &&
	    entered_set(&s->entered, solve_function_of(s, w->owner), ENTERED_JUMPS_AWAY))
		return -ENOMEM;
	if (frame_state_has_left(states_get(&s->states, w->state)))
		return 0;
	s->returned++;
	if (solve_is_at_return(s, w) && frame_state_has_target(states_get(&s->states, w->state))) {
		if (entered_set(&s->entered, solve_function_of(s, w->owner), ENTERED_JUMPS_AWAY))
			return -ENOMEM;
	} else if (solve_is_at_return(s, w)) {
		owners_confirm(&s->owners, w->owner);
		note_clobbered(s, w);
		if (entered_set(&s->entered, solve_function_of(s, w->owner), ENTERED_BY_CALLS))
			return -ENOMEM;
	} else if (frame_state_is_known(states_get(&s->states, w->state))) {
		solve_fail(s, w->owner, ANALYSIS_ABSTAINED_RETURN);
	}
	return solve_set_returns(s, w->owner);
}

/* Follows the path from its instruction to the next. Returns 1: the path continues after the
 * instruction; 0: it ends; -ENOMEM. */
static int leave(struct solver *s, struct path *p)
{
	int err;

	switch (p->insn.flow) {
	case INSN_NEXT:
		return 1;
	case INSN_BRANCH:
		err = follow_jump(s, p, p->insn.target);
		if (p->insn.idiom == INSN_BOUND_TEST && p->insn.is_up_to)
			jump_hints_unbound(&p->hints);
		return err ? err : 1;
	case INSN_JUMP:
		return follow_jump(s, p, p->insn.target);
	case INSN_JUMP_INDIRECT:
		return follow_indirect(s, p);
	case INSN_CALL:
	case INSN_CALL_INDIRECT:
		return solve_follow_call(s, p);
	case INSN_RETURN:
		return leave_function(s, &p->w);
	default:
		return 0;
	}
}

/* Sets i->is_local if a call leads to the same code, and notes which register its callee must
 * preserve. Returns 0 or -ENOMEM. */
static int note_local_call(struct solver *s, struct insn *i, const struct frame_state *before)
{
	uint32_t callee = i->flow == INSN_CALL ? code_find(s->code, i->target) : CODE_NONE;
	unsigned reg;

	if (callee == CODE_NONE)
		return 0;
	i->is_local = true;
	reg = frame_state_lone_register(before);
	return reg == INSN_NO_REG ? 0 : unclobbered_want(s->preserved, callee, reg);
}

/* Returns whether the code at a byte, into which no code runs, begins as only functions do. */
static bool looks_like_function(const struct solver *s, uint32_t at)
{
	return s->code->marks[at] & CODE_ENDBR ||
	       (s->code->marks[at] & CODE_PADDED && saves_first(s, at));
}

/* Notes a code address that the instruction loads into a register, if it is not a function's
 * start. */
static int note_label(struct solver *s, const struct path *p)
{
	uint32_t at = p->insn.is_number ? CODE_NONE : code_find(s->code, p->insn.target);

	if (at == CODE_NONE || solve_is_pinned(s, at) || !(s->code->marks[at] & CODE_SWEPT) ||
	    looks_like_function(s, at))
		return 0;
	return computed_jumps_add(&s->labels, solve_function_of(s, p->w.owner), p->insn.dst, at,
				  COMPUTED_JUMPS_OWN);
}

/* Follows the end of a loop that touches the pages of a large frame, one after the other, until the
 * stack pointer equals a register. In the loop the stack pointer's value is not known; after it, it
 * is that of the register. */
static int leave_probe(struct solver *s, struct path *p)
{
	struct frame_state after = *states_get(&s->states, p->w.state);

	if (!p->insn.is_unequal || p->bound == INSN_NO_REG)
		return 0;
	frame_state_set_sp(&after, p->bound);
	p->w.state = states_number(&s->states, &after);
	return p->w.state == STATES_NONE ? -ENOMEM : 0;
}

/* Returns whether a path that has set up a frame comes to the start of another function, which
 * shows that it has run out of its own. */
static bool begins_another(const struct solver *s, const struct path *p)
{
	const uint32_t left = code_end(p->area) - p->w.at;

	return s->needs_returns && frame_state_is_framed(states_get(&s->states, p->w.state)) &&
	       code_form_makes_frame(p->area->bytes + (p->w.at - p->area->first), left);
}

/* Applies the path's instruction to its state. Returns 0 or -ENOMEM. */
static int apply(struct solver *s, struct path *p)
{
	const struct frame_state *before;
	struct frame_state after;

	if (p->insn.op == INSN_PUSH && p->hints.has_any && follow_handler(s, p))
		return -ENOMEM;
	if (p->insn.op == INSN_PUSH && p->insn.src == INSN_FP && begins_another(s, p))
		solve_fail(s, p->w.owner, ANALYSIS_ABSTAINED_CFA);
	if (p->insn.op == INSN_STORE &&
	    (p->hints.has_any || p->landing || p->insn.src == INSN_FP) && follow_landing(s, p))
		return -ENOMEM;
	before = states_get(&s->states, p->w.state);
	jump_hints_apply(&p->hints, &p->insn);
	if (p->insn.idiom == INSN_ADDRESS && note_label(s, p))
		return -ENOMEM;
	if (p->insn.flow == INSN_RETURN || frame_state_ignores(before, &p->insn))
		return 0;
	if (note_local_call(s, &p->insn, before))
		return -ENOMEM;
	if (frame_state_releases_callers(before, &p->insn))
		solve_fail(s, p->w.owner, ANALYSIS_ABSTAINED_RETURN);
	after = *before;
	frame_state_apply(&after, &p->insn);
	if (p->insn.op == INSN_PUSH)
		returns_push(&s->returns, solve_function_of(s, p->w.owner),
			     frame_state_saved_since(before, &after));
	if (after.changed & ~before->changed & FRAME_BOTTOM &&
	    entered_set(&s->entered, solve_function_of(s, p->w.owner), ENTERED_BY_CALLS))
		return -ENOMEM;
	if (p->links == p->w.at) /* the code that loads it from that word is what leads to the
				  * handler */
		after.changed &= before->changed | ~FRAME_SP_SHARED;
	p->w.state = states_number(&s->states, &after);
	return p->w.state == STATES_NONE ? -ENOMEM : 0;
}

/* Follows one path until it ends or joins another. */
static int run(struct solver *s, const struct work_item *w, bool is_weak)
{
	struct path p = {.area = code_area_of(s->code, w->at), .w = *w};
	int go_on;

	hint_pool_take(&s->hints, w->hints, &p.hints);
	p.bound = INSN_NO_REG;
	p.is_straight = begins_straight(s, p.area, w);
	go_on = solve_come(s, &p, is_weak);
	while (go_on > 0) {
		struct flow_item *item = flow_map_find(&s->flow, p.w.at);

		if (s->steps++ >= FREE_STEPS + s->code->size / 2)
			return -E2BIG;
		if (code_must_stop(s->code))
			return -ECANCELED;
		if (!code_decode(s->code, p.area, p.w.at, &p.insn)) {
			solve_fail(s, p.w.owner, ANALYSIS_ABSTAINED_CODE);
			return solve_set_returns(s, p.w.owner);
		}
		item->visits = p.insn.length << 4 | (item->visits & SOLVE_VISITS_MASK);
		if (shows_function(s, &p) && note_function(s, &p))
			return -ENOMEM;
		if (s->needs_returns &&
		    frame_state_uses_frame(states_get(&s->states, p.w.state), &p.insn))
			owners_confirm(&s->owners, p.w.owner);
		p.is_straight &= p.insn.flow == INSN_NEXT;
		if (apply(s, &p))
			return -ENOMEM;
		go_on = leave(s, &p);
		if (go_on <= 0)
			break;
		if (leave_probe(s, &p))
			return -ENOMEM;
		p.bound = p.insn.idiom == INSN_STACK_BOUND ? p.insn.src : INSN_NO_REG;
		p.w.at += p.insn.length;
		if (p.w.at >= code_end(p.area))
			return solve_set_returns(s, p.w.owner);
		go_on = solve_come(s, &p, false);
	}
	return go_on;
}

int solve_drain(struct solver *s)
{
	uint32_t item;
	int err = 0;

	while (!err) {
		if (returns_take(&s->returns, &item)) {
			err = solve_resume(s, item);
		} else if (s->strong.count) {
			const struct work_item w = s->strong.items[--s->strong.count];

			err = run(s, &w, false);
		} else if (s->weak.count) {
			const struct work_item w = s->weak.items[--s->weak.count];

			err = run(s, &w, true);
		} else {
			break;
		}
	}
	return err;
}
