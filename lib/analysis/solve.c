/* SPDX-License-Identifier: MIT */
/*
 * The work list; see solve.h.
 *
 * A byte of code has the number of the state before the instruction that begins there. A join only
 * ever takes away, and after MAX_VISITS nothing is left to a state, so the work is linear in the
 * size of the code.
 */
#include "analysis/solve.h"

#include "analysis/solve_internal.h"

#define MAX_VISITS  8
#define FREE_STEPS  65536 /* and one more for each two bytes: ordinary code needs a half of that */
#define VISITS_MASK 0x0fu /* of `visits`; the instruction's length is above */

static uint32_t state_at(const struct solver *s, uint32_t at)
{
	return flow_map_get(&s->flow, at).state;
}

static uint32_t owner_at(const struct solver *s, uint32_t at)
{
	return flow_map_get(&s->flow, at).owner;
}

int solve_push_path(struct solver *s, struct work_list *list, const struct path *p, uint32_t at,
		    uint32_t owner)
{
	struct work w = p->w;

	w.at = at;
	w.owner = owner;
	w.hints = hint_pool_keep(&s->hints, &p->hints);
	return work_push(list, &w);
}

/* --- owners -------------------------------------------------------------------------------- */

static void fail(struct solver *s, uint32_t owner, enum analysis_abstained why)
{
	owners_fail(&s->owners, owner, why);
}

static uint32_t function_of(const struct solver *s, uint32_t owner)
{
	return s->owners.items.items[owner].function;
}

static bool is_guess(const struct solver *s, uint32_t owner)
{
	return owner >= s->first_guess;
}

/* Confirms an owner that was not seen to return. */
static void confirm_unreturned(struct solver *s, uint32_t owner)
{
	if (!s->needs_returns || !is_guess(s, owner))
		owners_confirm(&s->owners, owner);
}

static bool is_at_return(const struct solver *s, const struct work *w)
{
	return frame_state_is_at_return(states_get(&s->states, w->state));
}

/* A path returns, or may, for all that is known. */
static int set_returns(struct solver *s, uint32_t owner)
{
	return returns_set(&s->returns, function_of(s, owner));
}

int solve_begin_function(struct solver *s, uint32_t at)
{
	struct work w = {.at = at, .state = STATES_ENTRY, .hints = HINT_POOL_NONE};
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
	return work_push(&s->strong, &w);
}

/* --- joins --------------------------------------------------------------------------------- */

/* A path that comes to code of the same frame. */
static int meet(struct solver *s, const struct work *w)
{
	uint32_t other = owner_at(s, w->at);

	if (other == w->owner || (is_guess(s, other) && owners_get(&s->owners, other)->failed))
		return 0;
	if (is_guess(s, other) && solve_is_pinned(s, w->at)) { /* what falls into a function */
		if (owners_lean_on(&s->owners, w->owner, other))
			return -ENOMEM;
	} else if (is_guess(s, other)) { /* parts of one function, perhaps: judged as one */
		owners_unite(&s->owners, other, w->owner);
	} else {
		owners_confirm(&s->owners, w->owner);
	}
	return returns_follow(&s->returns, function_of(s, w->owner), function_of(s, other));
}

/* A path that comes to code of another frame. */
static int join(struct solver *s, struct work *w, bool is_weak)
{
	struct flow_item *item = flow_map_find(&s->flow, w->at);
	uint32_t before = item->state, other = item->owner;
	struct frame_state joined;
	int err = returns_follow(&s->returns, function_of(s, w->owner), function_of(s, other));

	if (err)
		return err;
	if (is_guess(s, w->owner) && other != w->owner) {
		/* A guess that leads into a known frame in another way is wrong; both may end in
		 * a third function. */
		if (is_at_return(s, w) && frame_state_is_at_return(states_get(&s->states, before)))
			return owners_lean_on(&s->owners, w->owner, other);
		if (!is_weak)
			fail(s, w->owner, ANALYSIS_ABSTAINED_CFA);
		return 0;
	}
	if (solve_is_pinned(s, w->at) || is_weak)
		return 0;
	joined = *states_get(&s->states, before);
	if (!frame_state_join(&joined, states_get(&s->states, w->state)))
		return 0;
	w->state = STATES_UNKNOWN;
	if ((item->visits & VISITS_MASK) < MAX_VISITS) {
		item->visits++;
		w->state = states_number(&s->states, &joined);
	}
	if (w->state == STATES_NONE)
		return -ENOMEM;
	item->state = w->state;
	return w->state != before;
}

/* Whether a guess led to a byte that has failed: a path may take the byte over, a few times. */
static bool has_failed(const struct solver *s, uint32_t at)
{
	struct flow_item item = flow_map_get(&s->flow, at);

	return item.state && is_guess(s, item.owner) &&
	       owners_get(&s->owners, item.owner)->failed &&
	       (item.visits & VISITS_MASK) < MAX_VISITS;
}

/* Whether a guess led to a byte of which nothing says that it is a function, while that is known of
 * the one that a path is in: then the first one is wrong if they contradict. */
static bool is_less_likely(const struct solver *s, uint32_t at, uint32_t owner)
{
	return is_guess(s, owner_at(s, at)) &&
	       !owners_get(&s->owners, owner_at(s, at))->is_confirmed &&
	       (!is_guess(s, owner) || owners_get(&s->owners, owner)->is_confirmed);
}

/* Takes a byte over from a guess that has failed. */
static void take_over(struct solver *s, const struct work *w)
{
	struct flow_item *item = flow_map_find(&s->flow, w->at);

	item->visits++;
	s->code->marks[w->at] &= (uint8_t)~CODE_PINNED;
	item->state = w->state;
	item->owner = w->owner;
}

/* Joins the state of a path with that of its instruction. Returns 1: the path goes on, with the
 * state in w->state; 0: it does not; -ENOMEM. */
static int arrive(struct solver *s, struct work *w, bool is_weak)
{
	struct flow_item *item;

	if (has_failed(s, w->at)) {
		take_over(s, w);
		return 1;
	}
	if (solve_is_pinned(s, w->at) && w->state != STATES_ENTRY)
		return returns_follow(&s->returns, function_of(s, w->owner),
				      function_of(s, owner_at(s, w->at)));
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
	if (!is_weak && owner_at(s, w->at) != w->owner && is_less_likely(s, w->at, w->owner)) {
		fail(s, owner_at(s, w->at), ANALYSIS_ABSTAINED_CFA);
		if (has_failed(s, w->at)) {
			take_over(s, w);
			return 1;
		}
	}
	return join(s, w, is_weak);
}

/* Gives a function an address that a path brings along in a register. */
static int bring_label(struct solver *s, uint32_t function, unsigned reg, uint32_t label)
{
	uint32_t owner;

	if (label == CODE_NONE || (solve_is_pinned(s, label) && !has_failed(s, label)) ||
	    !(s->code->marks[label] & CODE_SWEPT) || labels_has(&s->labels, function, reg, label))
		return 0;
	if (owners_add(&s->owners, function, &owner))
		return -ENOMEM;
	return labels_add(&s->labels, function, reg, label, owner);
}

/* Gives a function whose code a guess goes on into, with the same frame, the addresses that the
 * path brings along: dav1d has functions that differ in nothing but where the code that they share
 * jumps to by a register. */
static int bring_labels(struct solver *s, const struct path *p, uint32_t at)
{
	uint32_t function = function_of(s, owner_at(s, at));
	uint64_t target;
	int err = 0;

	if (!is_guess(s, p->w.owner) || !p->hints.has_any)
		return 0;
	if (solve_is_pinned(s, at) ? p->w.state != STATES_ENTRY
				   : !state_at(s, at) || state_at(s, at) != p->w.state)
		return 0;
	for (unsigned reg = 0; reg < 16 && !err; reg++) {
		if (jump_hints_known(&p->hints, reg, &target))
			err = bring_label(s, function, reg, code_find(s->code, target));
	}
	return err;
}

/* Comes to an instruction; results as arrive()'s. */
static int come(struct solver *s, struct path *p, bool is_weak)
{
	if (owner_at(s, p->w.at) != p->w.owner && bring_labels(s, p, p->w.at))
		return -ENOMEM;
	return arrive(s, &p->w, is_weak);
}

/* --- jumps --------------------------------------------------------------------------------- */

/* The byte of this code where the function begins that a call or a jump leads to, through a stub or
 * its slot if need be; that function is begun. CODE_NONE: it is elsewhere. */
static int find_callee(struct solver *s, const struct insn *i, uint32_t *ret_callee)
{
	uint64_t vaddr = noreturn_callee(s->noreturn, s->code->elf, i);

	*ret_callee = vaddr ? code_find(s->code, vaddr) : CODE_NONE;
	return *ret_callee == CODE_NONE ? 0 : solve_begin_function(s, *ret_callee);
}

/* A jump out of the code: a tail call. It returns if the function does, of which nothing is known
 * where that is another file's. */
static int leave_code(struct solver *s, const struct path *p, bool returns)
{
	uint32_t callee;
	int err = find_callee(s, &p->insn, &callee);

	if (is_at_return(s, &p->w))
		confirm_unreturned(s, p->w.owner);
	if (err || !returns)
		return err;
	if (callee == CODE_NONE)
		return set_returns(s, p->w.owner);
	return returns_follow(&s->returns, function_of(s, p->w.owner),
			      function_of(s, owner_at(s, callee)));
}

/* A jump to where nobody knows. Of a guess that is a tail call only if it has used nothing that a
 * part of a function would: the parts of a switch end in such jumps. */
static int lose_path(struct solver *s, const struct path *p)
{
	const struct frame_state *state = states_get(&s->states, p->w.state);

	/* It has taken more off the stack than a function may: it was not entered by a call. */
	if (frame_state_is_above_return(state))
		fail(s, p->w.owner, ANALYSIS_ABSTAINED_RETURN);
	if (is_at_return(s, &p->w) &&
	    (!is_guess(s, p->w.owner) ||
	     (s->owners.items.items[p->w.owner].is_likely && frame_state_is_function(state))))
		confirm_unreturned(s, p->w.owner);
	return set_returns(s, p->w.owner);
}

static int tail_call(struct solver *s, const struct path *p, uint32_t at)
{
	uint32_t owner = p->w.owner;

	if (bring_labels(s, p, at))
		return -ENOMEM;
	if (!is_at_return(s, &p->w))
		fail(s, owner, ANALYSIS_ABSTAINED_RETURN);
	else if (!is_guess(s, owner))
		owners_confirm(&s->owners, owner);
	else if (frame_state_is_function(states_get(&s->states, p->w.state)) &&
		 owners_lean_on(&s->owners, owner, owner_at(s, at)))
		return -ENOMEM;
	return returns_follow(&s->returns, function_of(s, owner), function_of(s, owner_at(s, at)));
}

/* Whether the instruction at a byte saves a register. */
static bool saves_first(const struct solver *s, uint32_t at)
{
	struct insn i;

	return code_decode(s->code, code_area_of(s->code, at), at, &i) && insn_saves_register(&i);
}

/* Whether a guess's jump is a tail call of what begins like a function. */
static bool begins_behind_padding(const struct solver *s, const struct path *p, uint32_t at)
{
	return is_guess(s, p->w.owner) && is_at_return(s, &p->w) && !state_at(s, at) &&
	       s->code->marks[at] & CODE_PADDED && saves_first(s, at);
}

/* Whether a branch within a frame leads where another function begins: so compilers have it for
 * what never comes, if nothing follows there. */
static bool never_comes(const struct solver *s, const struct path *p, uint32_t at)
{
	const struct frame_value top = states_get(&s->states, p->w.state)->reg[INSN_RSP];

	if (p->insn.flow != INSN_BRANCH || top.origin != FRAME_CFA || top.offset >= -8)
		return false;
	if ((solve_is_pinned(s, at) || state_at(s, at) == STATES_ENTRY) &&
	    !is_guess(s, owner_at(s, at)) && saves_first(s, at))
		return true;
	return solve_leads_behind(s, at);
}

/* Goes where a jump or a branch leads. */
static int follow_jump(struct solver *s, const struct path *p, uint64_t target)
{
	uint32_t at = code_find(s->code, target), owner = p->w.owner;
	int put_off;

	if (at == CODE_NONE)
		return leave_code(s, p, !noreturn_has_function(s->noreturn, s->code->elf, target));
	if (never_comes(s, p, at))
		return 0;
	put_off = solve_put_off(s, p, at);
	if (put_off)
		return put_off < 0 ? put_off : 0;
	/* What is jumped to from the middle of a frame is hardly a function. */
	if (solve_is_pinned(s, at) && !is_at_return(s, &p->w) && is_less_likely(s, at, owner))
		fail(s, owner_at(s, at), ANALYSIS_ABSTAINED_CFA);
	if (begins_behind_padding(s, p, at) && solve_begin_function(s, at))
		return -ENOMEM;
	if (solve_is_pinned(s, at) && !has_failed(s, at))
		return tail_call(s, p, at);
	/* It is perhaps a tail call: what goes wrong there is not wrong here. */
	if (p->w.state == STATES_ENTRY && !is_guess(s, owner) &&
	    owners_add(&s->owners, function_of(s, owner), &owner))
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
	if (jump_hints_table(&p->hints, &p->insn, &table) && !table.is_inside) {
		found = solve_follow_table(s, p, &table);
		return found ? (found < 0 ? found : 0) : lose_path(s, p);
	}
	if (p->insn.src < 16 &&
	    labels_jump(&s->labels, function_of(s, p->w.owner), p->insn.src, &p->w))
		return -ENOMEM;
	if (jump_hints_target(&p->hints, &p->insn, &target))
		return follow_jump(s, p, target);
	/* The unwinder, which goes to another function's handler: no return. */
	return code_is_eh_return(p->area, p->w.at) ? 0 : lose_path(s, p);
}

/* --- calls --------------------------------------------------------------------------------- */

/* Goes on behind a call. Where a function can begin there, what goes wrong is not wrong before. */
static int follow_return(struct solver *s, const struct code_area *area, struct work *w)
{
	bool is_leader = s->code->marks[w->at] & CODE_LEADER;

	if (!is_leader && !(code_vaddr(area, w->at) % CODE_FUNCTION_ALIGN) && !state_at(s, w->at) &&
	    !is_guess(s, w->owner) && owners_add_doubt(&s->owners, w->at, w->owner, &w->owner))
		return -ENOMEM;
	return work_push(is_leader ? &s->weak : &s->strong, w);
}

static int follow_call(struct solver *s, struct path *p)
{
	const struct insn *i = &p->insn;
	uint32_t stub = i->flow == INSN_CALL ? code_find(s->code, i->target) : CODE_NONE;
	uint32_t at = p->w.at + i->length, callee;
	int err = stub == CODE_NONE ? 0 : solve_begin_function(s, stub);

	if (!err)
		err = find_callee(s, i, &callee);
	if (err || noreturn_is_call(s->noreturn, s->code->elf, i))
		return err;
	if (at >= code_end(p->area))
		return set_returns(s, p->w.owner);
	if (code_ends_at(s->code, p->area, at))
		return 0;
	p->w.at = at;
	p->w.hints = hint_pool_keep(&s->hints, &p->hints);
	if (callee == CODE_NONE)
		return follow_return(s, p->area, &p->w);
	if (work_push(&s->parked, &p->w))
		return -ENOMEM;
	return returns_wait(&s->returns, function_of(s, owner_at(s, callee)),
			    (uint32_t)s->parked.count - 1);
}

/* A call that was waiting returns. */
static int resume(struct solver *s, uint32_t item)
{
	struct work w = s->parked.items[item];

	return follow_return(s, code_area_of(s->code, w.at), &w);
}

/* --- flow ---------------------------------------------------------------------------------- */

static int leave_function(struct solver *s, const struct work *w)
{
	if (is_at_return(s, w))
		owners_confirm(&s->owners, w->owner);
	else
		fail(s, w->owner, ANALYSIS_ABSTAINED_RETURN);
	return set_returns(s, w->owner);
}

/* Leaves an instruction. Returns 1: the path goes on behind it; 0; -ENOMEM. */
static int leave(struct solver *s, struct path *p)
{
	int err;

	switch (p->insn.flow) {
	case INSN_NEXT:
		return 1;
	case INSN_BRANCH:
		err = follow_jump(s, p, p->insn.target);
		return err ? err : 1;
	case INSN_JUMP:
		return follow_jump(s, p, p->insn.target);
	case INSN_JUMP_INDIRECT:
		return follow_indirect(s, p);
	case INSN_CALL:
	case INSN_CALL_INDIRECT:
		return follow_call(s, p);
	case INSN_RETURN:
		return leave_function(s, &p->w);
	default:
		return 0;
	}
}

/* Notes whether a call leads to the same code, and what it counts on the function to keep. */
static int note_local_call(struct solver *s, struct insn *i, const struct frame_state *before)
{
	uint32_t callee = i->flow == INSN_CALL ? code_find(s->code, i->target) : CODE_NONE;
	unsigned reg;

	if (callee == CODE_NONE)
		return 0;
	i->is_local = true;
	reg = frame_state_lone_register(before);
	return reg == INSN_NO_REG ? 0 : keeps_want(s->keeps, callee, reg);
}

/* Whether a byte that nothing falls into begins with what only functions begin with. */
static bool looks_like_function(const struct solver *s, uint32_t at)
{
	return s->code->marks[at] & CODE_ENDBR ||
	       (s->code->marks[at] & CODE_PADDED && saves_first(s, at));
}

/* Notes the address of another instruction than a function's first. */
static int note_label(struct solver *s, const struct path *p)
{
	uint32_t at = p->insn.is_number ? CODE_NONE : code_find(s->code, p->insn.target);

	if (at == CODE_NONE || solve_is_pinned(s, at) || !(s->code->marks[at] & CODE_SWEPT) ||
	    looks_like_function(s, at))
		return 0;
	return labels_add(&s->labels, function_of(s, p->w.owner), p->insn.dst, at, LABELS_OWN);
}

/* Leaves a loop that touches the pages of a large frame, one after the other, until rsp is where a
 * register says: the depth in the loop is not known, and behind it that of the register. */
static int leave_probe(struct solver *s, struct path *p)
{
	struct frame_state after = *states_get(&s->states, p->w.state);

	if (!p->insn.is_unequal || p->bound == INSN_NO_REG)
		return 0;
	frame_state_set_rsp(&after, p->bound);
	p->w.state = states_number(&s->states, &after);
	return p->w.state == STATES_NONE ? -ENOMEM : 0;
}

/* Applies the path's instruction to its state. */
static int apply(struct solver *s, struct path *p)
{
	const struct frame_state *before = states_get(&s->states, p->w.state);
	struct frame_state after;

	jump_hints_apply(&p->hints, &p->insn);
	if (p->insn.idiom == INSN_ADDRESS && note_label(s, p))
		return -ENOMEM;
	if (p->insn.flow == INSN_RETURN || frame_state_ignores(before, &p->insn))
		return 0;
	if (note_local_call(s, &p->insn, before))
		return -ENOMEM;
	after = *before;
	frame_state_apply(&after, &p->insn);
	p->w.state = states_number(&s->states, &after);
	return p->w.state == STATES_NONE ? -ENOMEM : 0;
}

/* Follows one path until it ends or joins another. */
static int run(struct solver *s, const struct work *w, bool is_weak)
{
	struct path p = {.area = code_area_of(s->code, w->at), .w = *w};
	int go_on;

	hint_pool_take(&s->hints, w->hints, &p.hints);
	p.bound = INSN_NO_REG;
	p.is_straight = solve_begins_straight(s, p.area, w);
	go_on = come(s, &p, is_weak);
	while (go_on > 0) {
		struct flow_item *item = flow_map_find(&s->flow, p.w.at);

		if (s->steps++ >= FREE_STEPS + s->code->size / 2)
			return -E2BIG;
		if (code_must_stop(s->code))
			return -ECANCELED;
		if (!code_decode(s->code, p.area, p.w.at, &p.insn)) {
			fail(s, p.w.owner, ANALYSIS_ABSTAINED_CODE);
			return set_returns(s, p.w.owner);
		}
		item->visits = p.insn.length << 4 | (item->visits & VISITS_MASK);
		if (solve_shows_function(s, &p))
			confirm_unreturned(s, p.w.owner);
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
			return set_returns(s, p.w.owner);
		go_on = come(s, &p, false);
	}
	return go_on;
}

int solve_drain(struct solver *s)
{
	uint32_t item;
	int err = 0;

	while (!err) {
		if (returns_take(&s->returns, &item)) {
			err = resume(s, item);
		} else if (s->strong.count) {
			const struct work w = s->strong.items[--s->strong.count];

			err = run(s, &w, false);
		} else if (s->weak.count) {
			const struct work w = s->weak.items[--s->weak.count];

			err = run(s, &w, true);
		} else {
			break;
		}
	}
	return err;
}
