/* SPDX-License-Identifier: MIT */
/* The order in which flow begins: at the certain functions, then at guesses, the most trustworthy
 * first; see solve.h. */
#include <string.h>

#include "analysis/solve_internal.h"

/* limit of the bytes that are withdrawn after a call that does not return; chosen by hand */
#define MAX_DOUBT 65536

void solve_need_returns(struct solver *s)
{
	s->needs_returns = true;
}

int solve_add_function(struct solver *s, uint64_t vaddr)
{
	uint32_t at = code_find(s->code, vaddr);

	return at == CODE_NONE ? 0 : solve_begin_function(s, at);
}

int solve_add_entry(struct solver *s, uint64_t vaddr)
{
	uint32_t at = code_find(s->code, vaddr);
	int err = at == CODE_NONE ? 0 : solve_begin_function(s, at);

	if (!err && at != CODE_NONE)
		s->owners.items.items[flow_map_get(&s->flow, at).owner].is_entry = true;
	return err;
}

/* Withdraws the failed code after a call, and marks its start as that of a function. */
static void withdraw(struct solver *s, const struct doubt *d)
{
	for (uint32_t b = d->at; b < s->code->size && b - d->at < MAX_DOUBT; b++) {
		struct flow_item *item = flow_map_find(&s->flow, b);

		if (!item || !item->state)
			continue;
		if (item->owner != d->owner)
			break;
		item->state = STATES_NONE;
	}
	s->code->marks[d->at] |= CODE_PADDED;
}

int solve_certain(struct solver *s)
{
	int err = solve_drain(s);
	size_t count;

	owners_settle(&s->owners, &count);
	while (count-- > 0)
		withdraw(s, &s->owners.doubts.items[count]);
	s->first_guess = (uint32_t)s->owners.items.count;
	return err;
}

static int begin_guess(struct solver *s, uint32_t at)
{
	int err = solve_begin_function(s, at);

	return err ? err : solve_drain(s);
}

/* Begins a guessed function at a byte, unless a path has reached the byte. */
static int guess(struct solver *s, uint32_t at)
{
	return flow_map_get(&s->flow, at).state ? 0 : begin_guess(s, at);
}

int solve_main(struct solver *s, uint64_t vaddr)
{
	uint32_t at = code_find(s->code, vaddr);
	int err = at == CODE_NONE ? 0 : guess(s, at);

	if (!err && at != CODE_NONE && solve_is_pinned(s, at) && !s->needs_returns)
		owners_confirm(&s->owners, solve_owner_at(s, at));
	if (!err && at != CODE_NONE && solve_is_pinned(s, at))
		err = entered_set(&s->entered, solve_function_of(s, solve_owner_at(s, at)),
				  ENTERED_BY_CALLS);
	return err;
}

/* Returns whether a byte is called, or the code there saves a register first. (A landing pad alone
 * is not enough, since parts to which interpreters jump have one, too.) */
static bool is_function(const struct solver *s, uint32_t at)
{
	return s->code->marks[at] & CODE_CALLED || code_saves_register(s->code, at);
}

int solve_pointer(struct solver *s, uint64_t vaddr)
{
	uint32_t at = code_find(s->code, vaddr);

	if (at == CODE_NONE || !(s->code->marks[at] & CODE_SWEPT) || code_is_case(s->code, at))
		return 0;
	if (is_function(s, at))
		return guess(s, at);
	if (VEC_RESERVE(&s->pointed, 1))
		return -ENOMEM;
	s->pointed.items[s->pointed.count++] = at;
	return 0;
}

/* Returns whether none of the eight bytes from `at` on has a mark. This is quick, and most bytes
 * have none. */
static bool has_none(const struct solver *s, uint32_t at, uint8_t mark)
{
	uint64_t marks;

	if (s->code->size - at < sizeof(marks))
		return false;
	memcpy(&marks, s->code->marks + at, sizeof(marks));
	return !(marks & mark * UINT64_C(0x0101010101010101));
}

/* Begins guessed functions at bytes with a mark. If the first pass found no instruction at such a
 * byte, the mark came from bytes that only look like a call. */
static int guess_marked(struct solver *s, uint8_t mark, bool functions_only)
{
	int err = 0;

	for (uint32_t at = 0; at < s->code->size && !err; at++) {
		while (has_none(s, at, mark))
			at += sizeof(uint64_t);
		if (at >= s->code->size)
			break;
		if (s->code->marks[at] & mark && s->code->marks[at] & CODE_SWEPT &&
		    !code_is_case(s->code, at) && (!functions_only || is_function(s, at)))
			err = guess(s, at);
	}
	return err;
}

/* If a path of a known function leads to the start of a guess that was not seen to return, fails
 * that guess, which is a part of the known function. */
static void displace(struct solver *s, const struct work_item *w)
{
	const struct flow_item item = flow_map_get(&s->flow, w->at);
	bool is_known = w->owner < s->first_guess || owners_get(&s->owners, w->owner)->is_confirmed;

	if (item.state && is_known && item.owner >= s->first_guess && solve_is_pinned(s, w->at) &&
	    !(s->code->marks[w->at] & (CODE_CALLED | CODE_ENDBR)) &&
	    !owners_get(&s->owners, item.owner)->is_confirmed)
		owners_fail(&s->owners, item.owner, ANALYSIS_ABSTAINED_CFA);
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Begins a guessed function where a pointer leads, which may be in the middle of a function. */
static int guess_pointed(struct solver *s, uint32_t at)
{
	uint32_t owner;

	if (solve_is_pinned(s, at) || solve_state_at(s, at))
		return 0;
	if (solve_begin_function(s, at))
		return -ENOMEM;
	owner = solve_owner_at(s, at);
	s->owners.items.items[owner].is_pointed = true;
	return solve_drain(s);
}

/* Returns whether code that was begun where a pointer leads has turned out not to be a function. */
static bool is_part(const struct solver *s, uint32_t owner)
{
	const struct owner *all = owners_get(&s->owners, owner);

	return s->owners.items.items[owner].is_pointed && (all->failed || !all->is_confirmed);
}

/* Returns whether another function jumps within a frame to an unknown target, while the stack
 * pointer is at another distance from its caller's frame than at a byte of this function. If not
 * all such jumps are known, one may. */
static bool is_lent(const struct solver *s, uint32_t function, const struct frame_state *state)
{
	for (size_t i = 0; i < s->lost_count; i++) {
		const struct work_item *w = &s->lost[i];
		const struct frame_state *lender = states_get(&s->states, w->state);

		if (solve_function_of(s, w->owner) != function &&
		    lender->reg[INSN_SP].origin == FRAME_CFA &&
		    lender->reg[INSN_SP].offset != state->reg[INSN_SP].offset &&
		    !owners_get(&s->owners, w->owner)->failed)
			return true;
	}
	return s->has_more_lost;
}

/* Returns the function into whose middle a pointer leads; UINT32_MAX: the byte is a function's
 * start, or its frame is not known. */
static uint32_t pointed_into(const struct solver *s, uint32_t at)
{
	if (solve_is_pinned(s, at) || !solve_state_at(s, at) ||
	    states_get(&s->states, solve_state_at(s, at))->reg[INSN_SP].origin != FRAME_CFA)
		return UINT32_MAX;
	return solve_function_of(s, solve_owner_at(s, at));
}

/* Handles the pointers into the middle of functions. If another function jumps to an unknown
 * target, that one's frame may be there instead of the function's own, so the code has no rule from
 * there on. An interpreter, which has many such pointers and jumps to them itself, is no exception.
 */
static int doubt_pointed(struct solver *s)
{
	int err = 0;

	for (size_t i = 0; i < s->pointed.count && s->lost_count && !err; i++) {
		uint32_t at = s->pointed.items[i], function = pointed_into(s, at);
		struct work_item w = {.at = at, .state = STATES_UNKNOWN, .hints = HINT_POOL_NONE};

		if (function == UINT32_MAX ||
		    !is_lent(s, function, states_get(&s->states, solve_state_at(s, at))))
			continue;
		w.owner = solve_owner_at(s, at);
		err = worklist_push(&s->strong, &w);
	}
	return err;
}

/* Guesses that a function begins wherever a pointer leads. If that turns out wrong, and the
 * function around the address has a computed jump whose table is not known, the address becomes a
 * target of that jump: interpreters keep tables of addresses inside one function. */
static int guess_all_pointed(struct solver *s)
{
	uint32_t function = UINT32_MAX;
	size_t k = 0;
	int err = 0;

	if (!s->pointed.count)
		return 0;
	qsort(s->pointed.items, s->pointed.count, sizeof(*s->pointed.items), compare);
	for (size_t i = 0; i < s->pointed.count && !err; i++)
		err = guess_pointed(s, s->pointed.items[i]);
	for (uint32_t at = 0; at < s->code->size && k < s->pointed.count && !err; at++) {
		const struct flow_item item = flow_map_get(&s->flow, at);
		bool is_pointed = at == s->pointed.items[k];

		while (k < s->pointed.count && at == s->pointed.items[k])
			k++;
		if (!item.state) {
			if (s->code->marks[at] & CODE_PADDED && is_function(s, at))
				function = UINT32_MAX;
			continue;
		}
		if (!is_part(s, item.owner)) {
			function = solve_function_of(s, item.owner);
		} else if (is_pointed && function != UINT32_MAX &&
			   computed_jumps_has_jump(&s->labels, function, COMPUTED_JUMPS_ANY)) {
			owners_fail(&s->owners, item.owner, ANALYSIS_ABSTAINED_RETURN);
			err = computed_jumps_add(&s->labels, function, COMPUTED_JUMPS_ANY, at,
						 COMPUTED_JUMPS_OWN);
		}
	}
	if (!err)
		err = solve_drain(s);
	if (!err)
		err = doubt_pointed(s);
	return err ? err : solve_drain(s);
}

/* --- behind calls that do not return -----------------------------------------------------------
 *
 * A function that ends in such a call can end at the next one's start: nothing is between them, and
 * the next one may begin with anything. Flow has come to the call and not gone on, no jump leads
 * behind it, and there a function can begin. What follows can be a part of the caller, too, that
 * only a jump leads to whose table is not known: so it comes last, and must not contradict what is
 * known.
 */

/* Returns whether the bytes before byte `at` are a call that flow has reached. */
static bool follows_call(const struct solver *s, uint32_t at)
{
	const struct code_area *area = code_area_of(s->code, at);
	struct insn i;

	for (uint32_t bytes = 1; bytes <= INSN_MAX_BYTES && bytes <= at - area->first; bytes++) {
		if (solve_length(s, at - bytes) != bytes)
			continue;
		return code_decode(s->code, area, at - bytes, &i) &&
		       (i.flow == INSN_CALL || i.flow == INSN_CALL_INDIRECT);
	}
	return false;
}

/* Begins guessed functions right after such calls. */
static int guess_behind_calls(struct solver *s)
{
	int err = 0;

	for (size_t k = 0; k < s->code->area_count && !err; k++) {
		const struct code_area *area = &s->code->areas[k];
		uint32_t at = area->first + (uint32_t)(-area->vaddr & (CODE_FUNCTION_ALIGN - 1));

		for (; at < code_end(area) && !err; at += CODE_FUNCTION_ALIGN) {
			uint8_t marks = s->code->marks[at];

			if (marks & CODE_SWEPT && !(marks & (CODE_LEADER | CODE_PINNED)) &&
			    (!solve_state_at(s, at) || solve_has_failed(s, at)) &&
			    !code_is_case(s->code, at) && follows_call(s, at))
				err = begin_guess(s, at);
		}
	}
	return err;
}

/* Begins guessed functions where data can precede functions, and code sets up a frame with a frame
 * pointer. */
static int guess_framed(struct solver *s)
{
	int err = 0;

	for (size_t k = 0; k < s->code->area_count && s->code->has_data && !err; k++) {
		const struct code_area *area = &s->code->areas[k];
		uint32_t at = area->first + (uint32_t)(-area->vaddr & (CODE_FUNCTION_ALIGN - 1));

		for (; at < code_end(area) && !err; at += CODE_FUNCTION_ALIGN) {
			if (s->code->marks[at] & CODE_SWEPT &&
			    code_begins_framed(s->code, area, at))
				err = guess(s, at);
		}
	}
	return err ? err : solve_resume_trapped(s);
}

/* Finds the functions that are entered by calls (entered.h). Returns 0 or -ENOMEM. */
static int find_entered(struct solver *s)
{
	int err = 0;

	for (uint32_t f = 0; f < s->begins.count && !err; f++) {
		if (s->code->marks[s->begins.items[f]] & CODE_CALLED ||
		    s->returns.functions.items[f].pushes)
			err = entered_set(&s->entered, f, ENTERED_BY_CALLS);
	}
	if (!err)
		entered_settle(&s->entered);
	return err;
}

int solve_likely(struct solver *s)
{
	static const uint8_t marks[] = {CODE_ENDBR, CODE_POINTED, CODE_PADDED, CODE_BEHIND_CALL};
	int err = guess_framed(s);

	if (!err)
		err = guess_marked(s, CODE_ENDBR, true);
	if (!err)
		err = guess_marked(s, CODE_CALLED, false);
	if (!err)
		err = guess_marked(s, CODE_POINTED, true);
	if (!err)
		err = guess_all_pointed(s);
	for (size_t i = 0; i < sizeof(marks) && !err; i++)
		err = guess_marked(s, marks[i], false);
	while (!err && s->late.count) {
		const struct work_item w = s->late.items[--s->late.count];

		displace(s, &w);
		err = worklist_push(&s->weak, &w);
		if (!err)
			err = solve_drain(s);
	}
	if (!err && !s->needs_returns)
		err = solve_resume_unclaimed(s);
	if (!err && !s->needs_returns)
		err = guess_behind_calls(s);
	if (!err && !s->needs_returns)
		err = solve_resume_unclaimed(s);
	if (!err && !s->needs_returns)
		err = solve_lean_on_callers(s);
	if (!err)
		err = find_entered(s);
	owners_settle_leans(&s->owners, s->first_guess);
	for (size_t i = s->first_guess; i < s->owners.items.count && !err; i++) {
		if (!owners_get(&s->owners, (uint32_t)i)->is_confirmed)
			owners_fail(&s->owners, (uint32_t)i, ANALYSIS_ABSTAINED_RETURN);
	}
	return err;
}
