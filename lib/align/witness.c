/* SPDX-License-Identifier: MIT */
/*
 * Witnesses: whole samples that had the same frames.
 *
 *   time ─►      w                      i
 *                k at 900               k at 900     i is open below f; w has not only f at that
 *                h at 700               h at 700     height, but what f called, from the same
 *                f at 600               f at 600     places, as well: the more of it, the more
 *                d                      ?            likely that i has w's callers
 *                main
 *
 * The sightings of f around a sample's time are looked at, up to a number of them; the witness is
 * the one with the most frames in common, and of several the nearest. What it is worth depends on
 * how many these are, how far away it is, and whether others with as many tell otherwise. The
 * classes were measured as those of weigh.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "align/parts.h"
#include "align/weigh.h"

#define WITNESS_LOOK  32u /* sightings, before and after */
#define WITNESS_MATCH 6u  /* frames; more make no difference */
#define WITNESS_NEAR  64u /* samples */
#define WITNESS_NEXT  2u
#define WITNESS_PRICE 64u /* of a search, besides the frames that are compared */

/* A sighting by a whole sample: its frame, and how it fits. */
struct witness_one {
	const struct align_entry *entry;
	uint32_t at;	/* its frame that is the open sample's first */
	uint32_t match; /* frames in common from there on, up to WITNESS_MATCH */
	uint32_t gap;	/* in ranks */
};

struct witness_search {
	struct align *align;
	const struct align_entry *open;
	size_t place; /* of the open one in the order */
	struct witness_one best;
	bool has_best;
	uint32_t n_heard, n_best; /* all, and those that fit as well as the best one */
	bool is_only;		  /* all that were seen have the best one's callers */
	bool is_only_so;	  /* those that fit as well have */
};

static bool witness_equal(const struct align_frame *x, const struct align_frame *y)
{
	return x->id == y->id && x->height == y->height;
}

/* The place of a frame in a whole sample, by its height, which rises. */
static bool witness_find(const struct align *a, const struct align_entry *e,
			 const struct align_frame *frame, uint32_t *ret_at)
{
	const struct align_frame *frames = &a->frames.items[e->s.first];
	uint32_t low = 1, high = e->s.n_frames;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		/* A leaf has no height, and is above all. */
		if (frames[middle].height && frames[middle].height < frame->height)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_at = low;
	return low < e->s.n_frames && frames[low].height == frame->height &&
	       frames[low].symbol == frame->symbol;
}

static uint32_t witness_match(const struct align *a, const struct witness_one *one,
			      const struct align_entry *open)
{
	const struct align_frame *x = &a->frames.items[one->entry->s.first + one->at];
	const struct align_frame *y = &a->frames.items[open->s.first];
	uint32_t n = one->entry->s.n_frames - one->at, same = 0;

	n = n < open->s.n_frames ? n : open->s.n_frames;
	n = n < WITNESS_MATCH ? n : WITNESS_MATCH;
	while (same < n && witness_equal(&x[same], &y[same]))
		same++;
	return same;
}

/* Whether two have the same callers. */
static bool witness_agree(struct align *a, const struct witness_one *x, const struct witness_one *y)
{
	const struct align_frame *of_x = &a->frames.items[x->entry->s.first];
	const struct align_frame *of_y = &a->frames.items[y->entry->s.first];
	uint32_t i = x->at;

	if (x->at != y->at)
		return false;
	while (i && witness_equal(&of_x[i - 1], &of_y[i - 1]))
		i--;
	a->credit -= a->credit < x->at - i ? a->credit : x->at - i;
	return !i;
}

static void witness_consider(struct witness_search *w, const struct witness_one *one)
{
	bool is_better = !w->has_best || one->match > w->best.match ||
			 (one->match == w->best.match && one->gap < w->best.gap);
	bool agree = !w->has_best || witness_agree(w->align, &w->best, one);

	w->is_only = w->is_only && agree;
	if (!w->has_best || one->match > w->best.match) {
		w->is_only_so = true;
		w->n_best = 0;
	}
	if (!w->has_best || one->match >= w->best.match) {
		w->is_only_so = w->is_only_so && (agree || !w->n_best);
		w->n_best++;
	}
	w->n_heard++;
	if (is_better)
		w->best = *one;
	w->has_best = true;
}

/* Hears one sighting, if its sample is whole. */
static void witness_ask(struct witness_search *w, const struct history_sighting *s)
{
	struct align *a = w->align;
	uint32_t rank = history_rank(s);
	size_t place = w->place + rank - w->open->rank; /* ranks are without gaps */
	struct witness_one one = {.entry = &a->samples.items[a->order[place]]};

	a->credit -= a->credit > 0;
	if (!one.entry->has_entry || s->when & HISTORY_ENTRY ||
	    !witness_find(a, one.entry, &a->frames.items[w->open->s.first], &one.at))
		return;
	one.gap = rank > w->open->rank ? rank - w->open->rank : w->open->rank - rank;
	one.match = witness_match(a, &one, w->open);
	witness_consider(w, &one);
}

/* What the best one is worth, if all tell the same. */
static uint32_t witness_weigh_all(const struct witness_search *w)
{
	uint32_t match = w->best.match, gap = w->best.gap;

	if (w->n_heard == 1 && gap > WITNESS_NEAR)
		return 0;
	if (match >= 2)
		return match >= 4 ? 9970 : 9700;
	if (match)
		return gap <= WEIGH_NEAR ? 9300 : 0;
	return gap <= WITNESS_NEXT ? 9100 : 0;
}

/* The same, where others fit less and tell otherwise. */
static uint32_t witness_weigh_best(const struct witness_search *w)
{
	uint32_t match = w->best.match, gap = w->best.gap;

	if (match >= 4 && w->n_best >= 4)
		return 9800;
	return match && gap <= WEIGH_NEAR ? 9500 : 0;
}

static uint32_t witness_weigh(const struct witness_search *w)
{
	return w->is_only ? witness_weigh_all(w) : w->is_only_so ? witness_weigh_best(w) : 0;
}

/* The link that tells a whole sample's frame, with all below it; each is made once. */
static int witness_link(struct align *a, const struct align_entry *e, uint32_t at,
			uint32_t *ret_link)
{
	uint32_t link = ALIGN_NONE, number = triples_find(&a->told, e->s.first + at, 0, 0);
	int r = 0;

	for (uint32_t i = number == TRIPLES_NONE ? 0 : at; r == 0 && i <= at; i++) {
		uint32_t below = link;

		r = triples_intern(&a->told, e->s.first + i, 0, 0, &number);
		if (r == 0 && number == a->told_links.count) {
			r = VEC_RESERVE(&a->told_links, 1);
			if (r == 0)
				r = links_add(a, &a->frames.items[e->s.first + i], ALIGN_CERTAIN);
			if (r < 0)
				return r;
			link = (uint32_t)a->links.count - 1;
			a->links.items[link].is_whole = !i;
			if (i)
				links_join(a, link, below);
			a->told_links.items[a->told_links.count++] = link;
		}
		link = a->told_links.items[number];
	}
	*ret_link = link;
	return r;
}

/* The links that a witness's word is worth: the first is this sample's own. */
static int witness_tell(struct align *a, const struct witness_one *one, uint32_t confidence,
			uint32_t *ret_link)
{
	uint32_t below = ALIGN_NONE, at = one->at - 1;
	int r = at ? witness_link(a, one->entry, at - 1, &below) : 0;

	if (r == 0)
		r = links_add(a, &a->frames.items[one->entry->s.first + at], confidence);
	if (r < 0)
		return r;
	*ret_link = (uint32_t)a->links.count - 1;
	a->links.items[*ret_link].is_whole = !at;
	if (at)
		links_join(a, *ret_link, below);
	return 0;
}

/* Whether links have the same callers. */
static bool witness_confirms(const struct align *a, const struct witness_one *one, uint32_t link)
{
	const struct align_frame *frames = &a->frames.items[one->entry->s.first];
	uint32_t at = one->at;

	for (; at && link < LINKS_ENTRY; link = a->links.items[link].below)
		if (!witness_equal(&frames[--at], &a->links.items[link].frame))
			return false;
	return true;
}

static void witness_ask_all(struct witness_search *w, uint32_t key)
{
	const struct history *h = &w->align->history;
	const struct history_key *k = &h->by_key.items[key];
	uint32_t at = history_find(h, key, w->open->rank).at, end = k->first + k->count;
	uint32_t from = at - k->first > WITNESS_LOOK ? at - WITNESS_LOOK : k->first;
	uint32_t to = end - at > WITNESS_LOOK ? at + WITNESS_LOOK : end;

	for (uint32_t i = from; i < to; i++)
		witness_ask(w, &h->sightings.items[i]);
}

int witness_hear(struct align *a, size_t place, uint32_t *link)
{
	const struct align_entry *e = &a->samples.items[a->order[place]];
	struct witness_search w = {
		.align = a, .open = e, .place = place, .is_only = true, .is_only_so = true};
	uint32_t confidence;

	if (!a->frames.items[e->s.first].height || a->credit < WITNESS_PRICE)
		return 0;
	a->credit -= WITNESS_PRICE;
	witness_ask_all(&w, a->key.items[e->keys]);
	if (!w.has_best)
		return 0;
	if (w.is_only_so && *link < LINKS_ENTRY && a->links.items[*link].is_whole &&
	    witness_confirms(a, &w.best, *link))
		return 0;
	confidence = witness_weigh(&w);
	if (confidence && confidence >= a->threshold)
		return witness_tell(a, &w.best, confidence, link);
	/* Those that called the same from elsewhere are no evidence; and against the best one, what
	 * single frames told is not enough. */
	if (!w.is_only_so ||
	    (w.best.match ? !witness_confirms(a, &w.best, *link) : w.best.gap > WITNESS_NEXT))
		*link = LINKS_OPEN;
	return 0;
}
