/* SPDX-License-Identifier: MIT */
/*
 * Completing samples.
 *
 *   links     an open sample's first frame, then the caller that it got, and so on, are each
 *             decided by the two sightings around the sample's time; the answer belongs to the
 *             gap between these sightings
 *   samples   each takes the links that begin at its first frame's gap
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "align/parts.h"
#include "align/weigh.h"

/* So many samples ahead. */
#define FORESEE_KEY	 12u
#define FORESEE_SIGHTING 6u

/* --- links ---------------------------------------------------------------------------------- */

/* The gap of a key that a rank falls into: before its first sighting, between two, after the
 * last. */
static uint32_t complete_gap(uint32_t key, const struct history_place *p)
{
	return p->at + key;
}

/* Decides a gap, and enters its link, which waits for what is below. */
static int complete_open_gap(struct align *a, uint32_t gap, const struct align_answer *answer)
{
	bool is_sure = answer->confidence && answer->confidence >= a->threshold;

	a->gaps.items[gap] = is_sure && answer->is_entry ? LINKS_ENTRY : LINKS_OPEN;
	if (!is_sure || answer->is_entry)
		return 0;
	if (VEC_RESERVE(&a->pending, 1) < 0 || links_add(a, &answer->frame, answer->confidence) < 0)
		return -ENOMEM;
	a->gaps.items[gap] = (uint32_t)a->links.count - 1;
	a->pending.items[a->pending.count++] = gap;
	return 0;
}

/* Completes the links that wait, the lowest first: `gap` is what the last one hangs on. */
static void complete_close_gaps(struct align *a, uint32_t gap)
{
	while (a->pending.count) {
		uint32_t above = a->pending.items[--a->pending.count];
		uint32_t below = gap == ALIGN_NONE ? LINKS_OPEN : a->gaps.items[gap];

		if (below == LINKS_ENTRY)
			a->links.items[a->gaps.items[above]].is_whole = true;
		else if (below != LINKS_OPEN)
			links_join(a, a->gaps.items[above], below);
		gap = above;
	}
}

/* The gap of a frame at a rank, decided, with all that it hangs on. */
static int complete_ask(struct align *a, struct align_question *q, uint32_t *ret_gap)
{
	uint32_t first = ALIGN_NONE;

	for (;;) {
		struct align_answer answer;
		uint32_t gap;
		int r;

		q->sighted = history_find(&a->history, q->key, q->rank);
		gap = complete_gap(q->key, &q->sighted);
		if (first == ALIGN_NONE)
			first = gap;
		if (a->gaps.items[gap] == ALIGN_NONE) {
			answer = decide(a, q);
			r = complete_open_gap(a, gap, &answer);
			if (r < 0)
				return r;
			if (a->gaps.items[gap] < LINKS_ENTRY) {
				q->symbol = answer.frame.symbol;
				q->height = answer.frame.height;
				q->key = history_key(&a->history, q->stack, q->symbol, q->height);
				if (q->key != INT_MAP_NONE)
					continue;
				gap = ALIGN_NONE;
			}
		}
		complete_close_gaps(a, gap);
		*ret_gap = first;
		return 0;
	}
}

/* --- samples -------------------------------------------------------------------------------- */

/* Takes the links from `link` on. */
static void complete_take(const struct align *a, struct align_sample *s, uint32_t link)
{
	const struct align_link *l;

	if (link == LINKS_ENTRY)
		s->is_whole = true;
	if (link >= LINKS_ENTRY)
		return;
	l = &a->links.items[link];
	s->below = link;
	s->n_lent = l->level + 1;
	s->confidence = l->path;
	s->is_whole = l->is_whole;
}

static int complete_sample(struct align *a, size_t place)
{
	struct align_entry *e = &a->samples.items[a->order[place]];
	const struct align_frame *f = &a->frames.items[e->s.first];
	struct align_question q = {.stack = e->stack,
				   .program = e->program,
				   .rank = e->rank,
				   .symbol = f->symbol,
				   .height = f->height,
				   .key = a->key.items[e->keys]};
	uint32_t gap, link;
	int r = complete_ask(a, &q, &gap);

	if (r < 0)
		return r;
	link = a->gaps.items[gap];
	if (a->is_mostly_whole)
		r = witness_hear(a, place, &link);
	if (r == 0)
		complete_take(a, &e->s, link);
	return r;
}

/* Has the memory that a sample will need brought near: its key `FORESEE_KEY` samples ahead, and
 * what that leads to a little later. */
static void complete_foresee(const struct align *a, size_t at, size_t end)
{
	if (at + FORESEE_KEY < end) {
		const struct align_entry *e = &a->samples.items[a->order[at + FORESEE_KEY]];

		history_foresee_key(&a->history, a->key.items[e->keys]);
	}
	if (at + FORESEE_SIGHTING < end) {
		const struct align_entry *e = &a->samples.items[a->order[at + FORESEE_SIGHTING]];
		uint32_t key = a->key.items[e->keys];
		uint32_t cursor = history_foresee_sighting(&a->history, key);

		__builtin_prefetch(&a->gaps.items[cursor + key]);
	}
}

/* Puts what a sample tells into the frames that are near, or takes it out. */
static void complete_show(struct align *a, uint32_t sample, bool is_near)
{
	const struct align_entry *e = &a->samples.items[sample];

	for (uint32_t i = !e->has_entry; i < e->s.n_frames; i++) {
		const struct align_frame *f = &a->frames.items[e->s.first + i];

		if (is_near)
			near_add(&a->near, f->symbol, f->height);
		else
			near_remove(&a->near, f->symbol, f->height);
	}
}

/* Completes the samples of one stack: those of the slice from `from` on. Where it ends. */
static int complete_stack(struct align *a, const struct align_slice *slice, size_t from,
			  size_t *ret_to)
{
	uint32_t stack = a->samples.items[a->order[from]].stack;
	size_t low = from, high = from, i = from, n = slice->to;
	int r = 0;

	for (; r == 0 && i < n && a->samples.items[a->order[i]].stack == stack; i++) {
		struct align_entry *e = &a->samples.items[a->order[i]];

		for (; high < n && high <= i + WEIGH_NEAR; high++) {
			if (a->samples.items[a->order[high]].stack != stack)
				break;
			complete_show(a, a->order[high], true);
		}
		for (; low + WEIGH_NEAR < i; low++)
			complete_show(a, a->order[low], false);
		complete_foresee(a, i, n);
		a->credit += WITNESS_CREDIT;
		if (!e->has_entry && i >= slice->done && i < slice->end)
			r = complete_sample(a, i);
	}
	for (; low < high; low++)
		complete_show(a, a->order[low], false);
	*ret_to = i;
	return r;
}

int complete_slice(struct align *a, const struct align_slice *slice)
{
	size_t n_gaps = a->history.sightings.count + a->history.by_key.count + 1;
	int r;

	a->gaps.count = 0;
	r = VEC_RESERVE(&a->gaps, n_gaps);
	if (r < 0)
		return r;
	memset(a->gaps.items, 0xff, n_gaps * sizeof(*a->gaps.items));
	for (size_t i = slice->from; r == 0 && i < slice->to;)
		r = complete_stack(a, slice, i, &i);
	return r;
}
