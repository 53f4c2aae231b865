/* SPDX-License-Identifier: MIT */
/* In what order flow begins: from the certain functions, then from guesses, by falling trust; see
 * solve.h. */
#include <string.h>

#include "analysis/solve_internal.h"

#define MAX_DOUBT 65536 /* bytes that are withdrawn behind a call that does not return */

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

/* Withdraws what follows a call and failed, and takes it for a function. */
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

/* Begins a function where nothing led to. */
static int guess(struct solver *s, uint32_t at)
{
	int err = flow_map_get(&s->flow, at).state ? 0 : solve_begin_function(s, at);

	return err ? err : solve_drain(s);
}

int solve_pointer(struct solver *s, uint64_t vaddr)
{
	uint32_t at = code_find(s->code, vaddr);

	if (at == CODE_NONE || !(s->code->marks[at] & CODE_SWEPT) || code_is_case(s->code, at))
		return 0;
	return guess(s, at);
}

/* Whether none of the eight bytes from `at` on has a mark: of most, nothing is to be asked. */
static bool has_none(const struct solver *s, uint32_t at, uint8_t mark)
{
	uint64_t marks;

	if (s->code->size - at < sizeof(marks))
		return false;
	memcpy(&marks, s->code->marks + at, sizeof(marks));
	return !(marks & mark * UINT64_C(0x0101010101010101));
}

/* Where the first pass found no instruction, a mark is one of bytes that only look like a call. */
static int guess_marked(struct solver *s, uint8_t mark)
{
	int err = 0;

	for (uint32_t at = 0; at < s->code->size && !err; at++) {
		while (has_none(s, at, mark))
			at += sizeof(uint64_t);
		if (at >= s->code->size)
			break;
		if (s->code->marks[at] & mark && s->code->marks[at] & CODE_SWEPT &&
		    !code_is_case(s->code, at))
			err = guess(s, at);
	}
	return err;
}

/* Fails a guess that begins where a known function leads, and that was not seen to return: it is a
 * part of that function. */
static void displace(struct solver *s, const struct work *w)
{
	const struct flow_item item = flow_map_get(&s->flow, w->at);
	bool is_known = w->owner < s->first_guess || owners_get(&s->owners, w->owner)->is_confirmed;

	if (item.state && is_known && item.owner >= s->first_guess && solve_is_pinned(s, w->at) &&
	    !(s->code->marks[w->at] & (CODE_CALLED | CODE_ENDBR)) &&
	    !owners_get(&s->owners, item.owner)->is_confirmed)
		owners_fail(&s->owners, item.owner, ANALYSIS_ABSTAINED_CFA);
}

int solve_likely(struct solver *s)
{
	static const uint8_t marks[] = {CODE_ENDBR, CODE_CALLED, CODE_POINTED, CODE_PADDED,
					CODE_BEHIND_CALL};
	int err = 0;

	for (size_t i = 0; i < sizeof(marks) && !err; i++)
		err = guess_marked(s, marks[i]);
	while (!err && s->late.count) {
		const struct work w = s->late.items[--s->late.count];

		displace(s, &w);
		err = work_push(&s->weak, &w);
		if (!err)
			err = solve_drain(s);
	}
	owners_settle_leans(&s->owners);
	for (size_t i = s->first_guess; i < s->owners.items.count && !err; i++) {
		if (!owners_get(&s->owners, (uint32_t)i)->is_confirmed)
			owners_fail(&s->owners, (uint32_t)i, ANALYSIS_ABSTAINED_RETURN);
	}
	return err;
}
