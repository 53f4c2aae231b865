/* SPDX-License-Identifier: MIT */
/*
 * Witnesses: whole samples that had the same frames.
 *
 *   time ─►      w            before     i          after
 *                k at 900     l at 910   k at 900   m at 950
 *                h at 700     h at 700   h at 700   h at 700
 *                f at 600     g at 610   f at 600   g at 610
 *                d at 500     e at 520   ?          e at 520
 *                b at 300     b at 300   ?          b at 300
 *                main         main       ?          main
 *
 * The open sample i begins at f. w has not only f at that height, but what f called, from the same
 * places, as well; and what i's neighbours have at their bottom, w has too.
 *
 * The callers that whole samples had below f at its height are paths. Those of the sightings around
 * i's time are gathered, and some of each of a few other threads that run the program: what is rare
 * in one thread was often seen in another. The best path is the one with the most frames in common
 * on both sides of the gap: above it with the open sample itself, below it with the whole samples
 * next in time. What it is worth, also against the others, says weigh.h. Single frames' word, the
 * link that came before, is one more sign: if all signs together do not do, nothing is lent.
 */
#include <errno.h>
#include <stdlib.h>

#include "align/parts.h"
#include "align/weigh.h"

#define WITNESS_LOOK	32u /* sightings, before and after */
#define WITNESS_THREADS 4u  /* others */
#define WITNESS_ELSE	16u /* sightings in each */
#define WITNESS_MATCH	8u  /* frames; more make no difference */
#define WITNESS_PATHS	8u
#define WITNESS_NEXT	16u /* samples: to a whole one that is a neighbour */
#define WITNESS_PRICE	64u /* of a search, besides the frames that are compared */

/* Callers that whole samples had below a frame like the open sample's first. */
struct witness_path {
	const struct align_entry *entry; /* of one such sample, */
	uint32_t at;			 /* its frame that is the open sample's first */
	uint32_t match;		/* frames in common from there on: the most that a sample has; */
	uint32_t n_match;	/* samples that have so many */
	uint32_t before, after; /* callers in common with the neighbours */
	uint32_t elsewhere;	/* samples of other threads */
};

struct witness_search {
	struct align *align;
	const struct align_entry *open;
	size_t place;				  /* of the open one in the order */
	const struct align_entry *before, *after; /* its neighbours: the next whole ones, or NULL */
	uint32_t stood; /* frames that these share, below the open one's first */
	struct witness_path paths[WITNESS_PATHS];
	uint32_t n_paths;
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

/* The frames that a whole sample and the open one have in common, from the latter's first on. */
static uint32_t witness_match(const struct align *a, const struct align_entry *e, uint32_t at,
			      const struct align_entry *open)
{
	const struct align_frame *x = &a->frames.items[e->s.first + at];
	const struct align_frame *y = &a->frames.items[open->s.first];
	uint32_t n = e->s.n_frames - at, same = 0;

	n = n < open->s.n_frames ? n : open->s.n_frames;
	n = n < WITNESS_MATCH ? n : WITNESS_MATCH;
	while (same < n && witness_equal(&x[same], &y[same]))
		same++;
	return same;
}

static void witness_pay(struct align *a, uint32_t frames)
{
	a->credit -= a->credit < frames ? a->credit : frames;
}

/* How many frames two samples share from the entry up, of the first `n`. */
static uint32_t witness_shared(struct align *a, const struct align_entry *x,
			       const struct align_entry *y, uint32_t n)
{
	const struct align_frame *of_x = &a->frames.items[x->s.first];
	const struct align_frame *of_y = &a->frames.items[y->s.first];
	uint32_t same = 0;

	n = n < x->s.n_frames ? n : x->s.n_frames;
	n = n < y->s.n_frames ? n : y->s.n_frames;
	while (same < n && witness_equal(&of_x[same], &of_y[same]))
		same++;
	witness_pay(a, same);
	return same;
}

/* --- paths ---------------------------------------------------------------------------------- */

/* Whether a sample has a path's callers. */
static bool witness_has(struct align *a, const struct witness_path *path,
			const struct align_entry *e, uint32_t at)
{
	const struct align_frame *x = &a->frames.items[path->entry->s.first];
	const struct align_frame *y = &a->frames.items[e->s.first];
	uint32_t i = at;

	if (path->at != at)
		return false;
	while (i && witness_equal(&x[i - 1], &y[i - 1]))
		i--;
	witness_pay(a, at - i);
	return !i;
}

/* The path that a sample has, entered if it is new; NULL: there are too many. */
static struct witness_path *witness_path(struct witness_search *w, const struct align_entry *e,
					 uint32_t at)
{
	struct witness_path *path = w->paths;

	for (; path < w->paths + w->n_paths; path++)
		if (witness_has(w->align, path, e, at))
			return path;
	if (w->n_paths == WITNESS_PATHS)
		return NULL;
	w->n_paths++;
	*path = (struct witness_path){.entry = e, .at = at};
	path->before = w->before ? witness_shared(w->align, e, w->before, at) : 0;
	path->after = w->after ? witness_shared(w->align, e, w->after, at) : 0;
	return path;
}

/* Hears one sighting, if its sample is whole. */
static void witness_ask(struct witness_search *w, const struct history_key *key,
			const struct history_sighting *s)
{
	struct align *a = w->align;
	uint32_t place = key->base + history_rank(s), at, match;
	const struct align_entry *e = &a->samples.items[a->order[place]];
	struct witness_path *path;

	witness_pay(a, 1);
	if (!e->has_entry || s->when & HISTORY_ENTRY ||
	    !witness_find(a, e, &a->frames.items[w->open->s.first], &at))
		return;
	path = witness_path(w, e, at);
	if (!path)
		return;
	match = witness_match(a, e, at, w->open);
	if (match > path->match) {
		path->match = match;
		path->n_match = 0;
	}
	path->n_match += match == path->match;
	path->elsewhere += e->stack != w->open->stack;
}

/* The sightings around the open sample. */
static void witness_ask_thread(struct witness_search *w, uint32_t key)
{
	const struct history *h = &w->align->history;
	const struct history_key *k = &h->by_key.items[key];
	uint32_t at = history_find(h, key, w->open->rank).at, end = k->first + k->count;
	uint32_t from = at - k->first > WITNESS_LOOK ? at - WITNESS_LOOK : k->first;
	uint32_t to = end - at > WITNESS_LOOK ? at + WITNESS_LOOK : end;

	for (uint32_t i = from; i < to; i++)
		witness_ask(w, k, &h->sightings.items[i]);
}

/* Sightings in other threads of the program, spread over their time. */
static void witness_ask_others(struct witness_search *w, uint32_t own)
{
	const struct align *a = w->align;
	const struct align_frame *first = &a->frames.items[w->open->s.first];
	uint32_t n = 0,
		 key = census_newest(&a->census, w->open->program, first->symbol, first->height);

	if (a->is_alone)
		return;
	for (; key != ALIGN_NONE && n < WITNESS_THREADS; key = a->history.by_key.items[key].alike) {
		const struct history_key *k = &a->history.by_key.items[key];
		uint32_t heard = k->count < WITNESS_ELSE ? k->count : WITNESS_ELSE;

		if (key == own)
			continue;
		n++;
		for (uint32_t i = 0; i < heard; i++)
			witness_ask(w, k,
				    &a->history.sightings.items[k->first + i * k->count / heard]);
	}
}

/* The next whole sample of the thread in one direction; NULL: there is none near. */
static const struct align_entry *witness_neighbour(const struct witness_search *w, int step)
{
	const struct align *a = w->align;
	size_t place = w->place;

	for (uint32_t n = 0; n < WITNESS_NEXT; n++) {
		const struct align_entry *e;

		place += (size_t)step;
		if (place >= a->samples.count)
			return NULL;
		e = &a->samples.items[a->order[place]];
		if (e->stack != w->open->stack)
			return NULL;
		if (e->has_entry)
			return e;
	}
	return NULL;
}

static void witness_look_around(struct witness_search *w)
{
	const struct align *a = w->align;
	uint32_t height = a->frames.items[w->open->s.first].height;

	w->before = witness_neighbour(w, -1);
	w->after = witness_neighbour(w, 1);
	if (!w->before || !w->after)
		return;
	w->stood = witness_shared(w->align, w->before, w->after, UINT32_MAX);
	while (w->stood && a->frames.items[w->before->s.first + w->stood - 1].height >= height)
		w->stood--;
}

/* --- what they are worth -------------------------------------------------------------------- */

/* Callers in common with the neighbour that has more of them. */
static uint32_t witness_near(const struct witness_path *path)
{
	return path->before > path->after ? path->before : path->after;
}

static const struct witness_path *witness_best(const struct witness_search *w)
{
	const struct witness_path *best = NULL, *path = w->paths;

	for (; path < w->paths + w->n_paths; path++)
		if (!best || path->match + witness_near(path) > best->match + witness_near(best))
			best = path;
	return best;
}

/* Whether links are a path's callers, all of them. */
static bool witness_confirms(const struct align *a, const struct witness_path *path, uint32_t link)
{
	const struct align_frame *frames = &a->frames.items[path->entry->s.first];
	uint32_t at = path->at;

	if (link >= LINKS_ENTRY || !a->links.items[link].is_whole ||
	    a->links.items[link].level + 1 != at)
		return false;
	for (; at; link = a->links.items[link].below)
		if (!witness_equal(&frames[--at], &a->links.items[link].frame))
			return false;
	return true;
}

static void witness_weigh_rival(const struct witness_path *best, const struct witness_path *rival,
				struct weigh_path *signs)
{
	int32_t above = (int32_t)best->match - (int32_t)rival->match;
	int32_t below = (int32_t)signs->near - (int32_t)witness_near(rival);

	signs->above = above < signs->above ? above : signs->above;
	signs->below = below < signs->below ? below : signs->below;
	signs->against += above <= 0 ? rival->n_match : 0;
	signs->has_rival = true;
}

static uint32_t witness_weigh(const struct witness_search *w, const struct witness_path *best,
			      bool is_told)
{
	uint32_t near = witness_near(best), far = best->before + best->after - near;
	struct weigh_path signs = {
		.above = (int32_t)best->match + 1,
		.below = (int32_t)near + 1,
		.near = near,
		.rest = best->at - far,
		.lacks = w->stood > far ? w->stood - far : 0,
		.seen = best->n_match,
		.elsewhere = best->elsewhere,
		.is_told = is_told,
	};

	for (uint32_t i = 0; i < w->n_paths; i++)
		if (&w->paths[i] != best)
			witness_weigh_rival(best, &w->paths[i], &signs);
	return weigh_path(&signs);
}

/* --- links ---------------------------------------------------------------------------------- */

/* The link that tells a whole sample's frame, with all below it; each is made once. */
static int witness_link(struct align *a, const struct align_entry *e, uint32_t at,
			uint32_t *ret_link)
{
	uint32_t link = ALIGN_NONE, number = int_map_find(&a->told, e->s.first + at);
	int r = 0;

	for (uint32_t i = number == INT_MAP_NONE ? 0 : at; r == 0 && i <= at; i++) {
		uint32_t below = link;

		r = int_map_enter(&a->told, e->s.first + i, (uint32_t)a->told_links.count, &number);
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

/* The links that a path is worth: the first is this sample's own. */
static int witness_tell(struct align *a, const struct witness_path *path, uint32_t confidence,
			uint32_t *ret_link)
{
	uint32_t below = ALIGN_NONE, at = path->at - 1;
	int r = at ? witness_link(a, path->entry, at - 1, &below) : 0;

	if (r == 0)
		r = links_add(a, &a->frames.items[path->entry->s.first + at], confidence);
	if (r < 0)
		return r;
	*ret_link = (uint32_t)a->links.count - 1;
	a->links.items[*ret_link].is_whole = !at;
	if (at)
		links_join(a, *ret_link, below);
	return 0;
}

int witness_hear(struct align *a, size_t place, uint32_t *link)
{
	const struct align_entry *e = &a->samples.items[a->order[place]];
	struct witness_search w = {.align = a, .open = e, .place = place};
	const struct witness_path *best;
	uint32_t confidence;
	bool is_told;

	if (!a->frames.items[e->s.first].height || a->credit < WITNESS_PRICE)
		return 0;
	witness_pay(a, WITNESS_PRICE);
	witness_look_around(&w);
	witness_ask_thread(&w, a->key.items[e->keys]);
	witness_ask_others(&w, a->key.items[e->keys]);
	best = witness_best(&w);
	if (!best)
		return 0;
	is_told = witness_confirms(a, best, *link);
	confidence = witness_weigh(&w, best, is_told);
	if (!confidence || confidence < a->threshold)
		*link = LINKS_OPEN;
	else if (!is_told)
		return witness_tell(a, best, confidence, link);
	return 0;
}
