/* SPDX-License-Identifier: MIT */
/*
 * Who called a frame at a moment.
 *
 * First the two sightings around that moment are asked, and weighed (weigh.h). A frame that was
 * never seen with a caller at its height can still have been at others: then the call graph tells
 * from where the routine is called and how far up the stack its frame then ends. If one such
 * caller, and only one, stood where it must around that time, it is the one. What nearly all
 * threads of the program tell is asked last.
 */
#include "align/parts.h"
#include "align/weigh.h"

#define DECIDE_CALLERS 64u /* of a routine that are tried at another height */

bool decide_stood(const struct align *a, uint32_t stack, uint32_t rank, uint32_t symbol,
		  uint32_t height)
{
	struct history_place p;
	uint32_t key;

	if (!near_has(&a->near, symbol, height))
		return false;
	key = history_key(&a->history, stack, symbol, height);
	if (key == INT_MAP_NONE)
		return false;
	p = history_find(&a->history, key, rank);
	return p.gap_before <= WEIGH_NEAR && p.gap_after <= WEIGH_NEAR &&
	       history_same(&a->history.sightings.items[p.before],
			    &a->history.sightings.items[p.after]);
}

/* Whether a sighting tells this caller. */
static bool decide_tells(const struct align *a, uint32_t sighting, const struct align_frame *caller)
{
	const struct history_sighting *s;

	if (sighting == HISTORY_NONE)
		return false;
	s = &a->history.sightings.items[sighting];
	return !(s->when & HISTORY_ENTRY) && s->id == caller->id && s->height == caller->height;
}

/* What the call graph says: counts the places that the routine is called from, and among them
 * those that stood where they would have to. `ret_one`: one of these; `ret_sighting`: a sighting
 * that tells one of these, else HISTORY_NONE. */
static void decide_ask_calls(const struct align *a, const struct align_question *q,
			     struct weigh_signs *signs, struct align_frame *ret_one,
			     uint32_t *ret_sighting)
{
	uint32_t at = calls_of(&a->calls, q->symbol);

	*ret_sighting = HISTORY_NONE;
	for (; at != INT_MAP_NONE && signs->places < DECIDE_CALLERS;
	     at = a->calls.calls.items[at].next) {
		const struct call *c = &a->calls.calls.items[at];
		struct align_frame caller = {c->id, c->symbol, q->height - c->distance};

		signs->places++;
		if (!q->height || c->distance > q->height ||
		    !decide_stood(a, q->stack, q->rank, caller.symbol, caller.height))
			continue;
		signs->standing++;
		*ret_one = caller;
		if (decide_tells(a, q->sighted.before, &caller))
			*ret_sighting = q->sighted.before;
		else if (decide_tells(a, q->sighted.after, &caller))
			*ret_sighting = q->sighted.after;
	}
	signs->is_standing = *ret_sighting != HISTORY_NONE;
}

/* The caller that a sighting tells. */
static struct align_answer decide_sighted(const struct align *a, uint32_t sighting,
					  uint32_t confidence)
{
	const struct history_sighting *s = &a->history.sightings.items[sighting];

	return (struct align_answer){.frame = {s->id, s->symbol, s->height},
				     .confidence = confidence,
				     .is_entry = s->when & HISTORY_ENTRY};
}

static struct weigh_signs decide_look(const struct align *a, const struct align_question *q)
{
	const struct history_place *p = &q->sighted;
	const struct history_key *k = &a->history.by_key.items[q->key];
	struct weigh_signs signs = {
		.both = p->before != HISTORY_NONE && p->after != HISTORY_NONE,
		.gap = p->gap_before < p->gap_after ? p->gap_before : p->gap_after,
		.has_changed = k->changes > 0,
		.seen = k->count,
		.between = k->between,
		.odd = k->odd,
	};

	signs.agree = signs.both && history_same(&a->history.sightings.items[p->before],
						 &a->history.sightings.items[p->after]);
	if (signs.agree && p->gap_before + p->gap_after - signs.gap > signs.gap)
		signs.gap = p->gap_before + p->gap_after - signs.gap;
	return signs;
}

/* What the sightings of this thread tell. */
static struct align_answer decide_here(const struct align *a, const struct align_question *q)
{
	const struct history_place *p = &q->sighted;
	struct weigh_signs signs = decide_look(a, q);
	uint32_t nearer = p->gap_before <= p->gap_after ? p->before : p->after, standing;
	struct align_frame one = {0};

	if (!signs.agree || signs.gap > WEIGH_NEAR) {
		decide_ask_calls(a, q, &signs, &one, &standing);
		if (signs.is_standing && !signs.agree)
			nearer = standing;
	}
	if (!signs.agree && !signs.is_standing && signs.standing == 1)
		return (struct align_answer){.frame = one, .confidence = WEIGH_STANDING_ALONE};
	if (nearer == HISTORY_NONE)
		return (struct align_answer){0};
	return decide_sighted(a, nearer, weigh(&signs));
}

struct align_answer decide(struct align *a, const struct align_question *q)
{
	struct align_answer answer = decide_here(a, q);
	const struct census_key *c;

	if (answer.confidence >= WEIGH_CENSUS_TELLS || !q->height ||
	    a->history.by_key.items[q->key].census == ALIGN_NONE)
		return answer;
	c = &a->census.by_key.items[a->history.by_key.items[q->key].census];
	if (c->total < WEIGH_CENSUS || c->count < (uint64_t)c->total * 9 / 10)
		return answer;
	return (struct align_answer){.frame = {c->caller.id, c->caller.symbol, c->caller.height},
				     .confidence = WEIGH_CENSUS_TELLS};
}
