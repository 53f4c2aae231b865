/* SPDX-License-Identifier: MIT */
/*
 * Donors: complete samples that have the same frames as a partial one, and supply its callers.
 *
 *   time ─►      donor        before     i          after
 *                k at 900     l at 910   k at 900   m at 950
 *                h at 700     h at 700   h at 700   h at 700
 *                f at 600     g at 610   f at 600   g at 610
 *                d at 500     e at 520   ?          e at 520
 *                b at 300     b at 300   ?          b at 300
 *                main         main       ?          main
 *
 * The partial sample i begins at f. The donor has not only f at that height, but also what f
 * called, from the same call sites; and it has the common prefix of i's neighbours, the frames from
 * the root on that the complete samples before and after i share.
 *
 * Candidate paths are the callers below f in complete samples that have f at this height. These
 * samples are taken from around i, and from a few other threads of the program, since a path that
 * is rare in one thread may be frequent in another. The best path is the one with the most frames
 * in common on both sides of the gap: above it with the partial sample, below it with a neighbour.
 * If it is rejected, nothing is inferred at all, not even what single frames suggest. The numbers
 * below bound the time of the search, and were chosen by hand with bench/align.py.
 */
#include <errno.h>
#include <stdlib.h>

#include "align/accept.h"
#include "align/align_state.h"

/* observations (history.h) that are tried as donors on each side of the partial sample */
#define DONOR_AROUND   32u
#define DONOR_STACKS   4u  /* other stacks that are searched */
#define DONOR_IN_STACK 16u /* observations that are compared in each of these */
/* frames above the gap that are compared at most, since more make no difference */
#define DONOR_MAX_MATCH 8u
#define DONOR_MAX_PATHS 8u
#define DONOR_NEIGHBOUR 16u /* samples within which a neighbour is searched */
/* cost of a search, comparisons excluded, in units of `donor_budget` */
#define DONOR_SEARCH_COST 64u

/* A candidate path. */
struct donor_path {
	const struct align_entry *donor; /* one of the samples that have it */
	/* callers in the path; also the index, in `donor`, of the frame that is like the partial
	 * sample's first frame */
	uint32_t n_callers;
	/* the most frames, from that frame towards the leaf, that any donor of this path shares
	 * with the partial sample */
	uint32_t match;
	/* callers that the path shares with the neighbour before, and with the one after */
	uint32_t before, after;
};

struct donor_search {
	struct align *align;
	const struct align_entry *partial;
	size_t position; /* index of the partial sample in `order` */
	/* the nearest complete samples; NULL if there is none */
	const struct align_entry *before, *after;
	/* callers, from the root on, that the neighbours `before` and `after` have in common */
	uint32_t n_common;
	struct donor_path paths[DONOR_MAX_PATHS];
	uint32_t n_paths;
};

static bool is_same(const struct align_frame *x, const struct align_frame *y)
{
	return x->id == y->id && x->height == y->height;
}

/* Subtracts work from the budget, down to 0. */
static void spend(struct align *a, uint32_t work)
{
	a->donor_budget -= a->donor_budget < work ? a->donor_budget : work;
}

/* Finds a frame in a complete sample by bisection: heights rise from the root to the leaf. */
static bool donor_find(const struct align *a, const struct align_entry *e,
		       const struct align_frame *frame, uint32_t *ret_index)
{
	const struct align_frame *frames = &a->frames.items[e->s.first];
	uint32_t low = 1, high = e->s.n_frames;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		/* A leaf has height 0 (unknown), and is above all others. */
		if (frames[middle].height && frames[middle].height < frame->height)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_index = low;
	return low < e->s.n_frames && frames[low].height == frame->height &&
	       frames[low].symbol == frame->symbol;
}

/* Returns how many of the first `n` frames of two arrays are equal, up to the first difference. */
static uint32_t donor_common(const struct align_frame *x, const struct align_frame *y, uint32_t n)
{
	uint32_t common = 0;

	while (common < n && is_same(&x[common], &y[common]))
		common++;
	return common;
}

static uint32_t donor_min(uint32_t x, uint32_t y)
{
	return x < y ? x : y;
}

/* Returns how many frames a donor shares with the partial sample: from the donor's frame `index`
 * and the partial sample's first frame on, towards the leaf. */
static uint32_t donor_match(const struct align *a, const struct align_entry *donor, uint32_t index,
			    const struct align_entry *partial)
{
	uint32_t n = donor_min(donor->s.n_frames - index, partial->s.n_frames);

	return donor_common(&a->frames.items[donor->s.first + index],
			    &a->frames.items[partial->s.first], donor_min(n, DONOR_MAX_MATCH));
}

/* Returns how many of the first `n` frames from the root on two samples share. */
static uint32_t prefix(struct align *a, const struct align_entry *x, const struct align_entry *y,
		       uint32_t n)
{
	uint32_t common = donor_common(&a->frames.items[x->s.first], &a->frames.items[y->s.first],
				       donor_min(n, donor_min(x->s.n_frames, y->s.n_frames)));

	spend(a, common);
	return common;
}

/* --- candidate paths ------------------------------------------------------------------------ */

/* Returns whether the first `index` frames of complete sample `e` are the callers of a path. */
static bool has_path(struct align *a, const struct donor_path *path, const struct align_entry *e,
		     uint32_t index)
{
	const struct align_frame *x = &a->frames.items[path->donor->s.first];
	const struct align_frame *y = &a->frames.items[e->s.first];
	uint32_t i = index;

	if (path->n_callers != index)
		return false;
	while (i && is_same(&x[i - 1], &y[i - 1]))
		i--;
	spend(a, index - i);
	return !i;
}

/* Returns the path that the first `index` frames of complete sample `e` are, and adds it if it is
 * new. NULL: there are too many paths. */
static struct donor_path *enter(struct donor_search *s, const struct align_entry *e, uint32_t index)
{
	struct donor_path *path = s->paths;

	for (; path < s->paths + s->n_paths; path++)
		if (has_path(s->align, path, e, index))
			return path;
	if (s->n_paths == DONOR_MAX_PATHS)
		return NULL;
	s->n_paths++;
	*path = (struct donor_path){.donor = e, .n_callers = index};
	path->before = s->before ? prefix(s->align, e, s->before, index) : 0;
	path->after = s->after ? prefix(s->align, e, s->after, index) : 0;
	return path;
}

/* Tries the sample of an observation as a donor: if it is complete, adds its path to the
 * candidates, or its match to a path that is there. */
static void donor_ask(struct donor_search *s, const struct history_key *key,
		      const struct history_observation *o)
{
	struct align *a = s->align;
	uint32_t position = key->base + history_rank(o), index, match;
	const struct align_entry *e = &a->samples.items[a->order[position]];
	struct donor_path *path;

	spend(a, 1);
	if (!e->has_entry || o->rank_flags & HISTORY_ENTRY ||
	    !donor_find(a, e, &a->frames.items[s->partial->s.first], &index))
		return;
	path = enter(s, e, index);
	if (!path)
		return;
	match = donor_match(a, e, index, s->partial);
	if (match > path->match)
		path->match = match;
}

/* Tries as donors the samples of the key's observations around the partial sample. */
static void ask_stack(struct donor_search *s, uint32_t key)
{
	const struct history *h = &s->align->history;
	const struct history_key *k = &h->keys.items[key];
	uint32_t position = history_find(h, key, s->partial->rank).position;
	uint32_t end = k->first + k->count;
	uint32_t from = position - k->first > DONOR_AROUND ? position - DONOR_AROUND : k->first;
	uint32_t to = end - position > DONOR_AROUND ? position + DONOR_AROUND : end;

	for (uint32_t i = from; i < to; i++)
		donor_ask(s, k, &h->observations.items[i]);
}

/* Tries samples of the program's other stacks as donors. Of each stack's observations it takes some
 * at even steps, as far apart in time as possible. */
static void ask_others(struct donor_search *s, uint32_t own_key)
{
	const struct align *a = s->align;
	const struct align_frame *first = &a->frames.items[s->partial->s.first];
	uint32_t n = 0, key;

	if (a->has_one_stack)
		return;
	key = majority_newest(&a->majority, s->partial->program, first->symbol, first->height);
	for (; key != HISTORY_NONE && n < DONOR_STACKS;
	     key = a->history.keys.items[key].next_stack) {
		const struct history_key *k = &a->history.keys.items[key];
		uint32_t asked = donor_min(k->count, DONOR_IN_STACK);

		if (key == own_key)
			continue;
		n++;
		for (uint32_t i = 0; i < asked; i++)
			donor_ask(s, k,
				  &a->history.observations.items[k->first + i * k->count / asked]);
	}
}

/* Returns the nearest complete sample of the stack before (`step` -1) or after (1) the partial one;
 * NULL if none is near. */
static const struct align_entry *neighbour(const struct donor_search *s, int step)
{
	const struct align *a = s->align;
	size_t position = s->position;

	for (uint32_t n = 0; n < DONOR_NEIGHBOUR; n++) {
		const struct align_entry *e;

		position += (size_t)step;
		if (position >= a->samples.count)
			return NULL;
		e = &a->samples.items[a->order[position]];
		if (e->stack != s->partial->stack)
			return NULL;
		if (e->has_entry)
			return e;
	}
	return NULL;
}

static void find_neighbours(struct donor_search *s)
{
	const struct align *a = s->align;
	uint32_t height = a->frames.items[s->partial->s.first].height;

	s->before = neighbour(s, -1);
	s->after = neighbour(s, 1);
	if (!s->before || !s->after)
		return;
	s->n_common = prefix(s->align, s->before, s->after, UINT32_MAX);
	while (s->n_common &&
	       a->frames.items[s->before->s.first + s->n_common - 1].height >= height)
		s->n_common--;
}

/* --- the best path -------------------------------------------------------------------------- */

/* Returns how many callers a path shares with the neighbour that has more of them in common. */
static uint32_t donor_shared(const struct donor_path *path)
{
	return path->before > path->after ? path->before : path->after;
}

static const struct donor_path *donor_best(const struct donor_search *s)
{
	const struct donor_path *best = NULL, *path = s->paths;

	for (; path < s->paths + s->n_paths; path++)
		if (!best || path->match + donor_shared(path) > best->match + donor_shared(best))
			best = path;
	return best;
}

/* Returns whether the chain of links that begins with `link` has the same frames as a path, down to
 * the thread's entry. */
static bool is_chain(const struct align *a, const struct donor_path *path, uint32_t link)
{
	const struct align_frame *frames = &a->frames.items[path->donor->s.first];
	uint32_t i = path->n_callers;

	if (link >= LINKS_ENTRY || !a->links.items[link].is_complete ||
	    a->links.items[link].n_callers + 1 != i)
		return false;
	for (; i; link = a->links.items[link].caller)
		if (!is_same(&frames[--i], &a->links.items[link].frame))
			return false;
	return true;
}

/* Decides whether to accept the best path. Without neighbours on both sides, nothing confirms its
 * callers: lead_below is 0. */
static bool accepts(const struct donor_search *s, const struct donor_path *best, bool is_inferred)
{
	uint32_t shared = donor_shared(best), both = donor_min(best->before, best->after);
	struct accept_path evidence = {
		.lead_above = (int32_t)best->match + 1,
		.lead_below = s->before && s->after ? (int32_t)shared + 1 : 0,
		.n_unconfirmed = best->n_callers - both,
		.n_missing = s->n_common > both ? s->n_common - both : 0,
		.is_inferred = is_inferred,
	};

	for (uint32_t i = 0; i < s->n_paths; i++) {
		const struct donor_path *rival = &s->paths[i];
		int32_t above = (int32_t)best->match - (int32_t)rival->match;
		int32_t below = (int32_t)shared - (int32_t)donor_shared(rival);

		if (rival == best)
			continue;
		if (above < evidence.lead_above)
			evidence.lead_above = above;
		if (below < evidence.lead_below)
			evidence.lead_below = below;
	}
	return accept_path(&evidence);
}

/* --- links ---------------------------------------------------------------------------------- */

/* Gives the link for frame `index` of a donor, whose chain of callers ends at the thread's entry.
 * Makes the missing links, so that each frame of a donor has one link. Returns 0 or -ENOMEM. */
static int donor_link(struct align *a, const struct align_entry *e, uint32_t index,
		      uint32_t *ret_link)
{
	uint32_t link = int_map_find(&a->donor_links, e->s.first + index), next;
	int err = 0;

	for (uint32_t i = link == INT_MAP_NONE ? 0 : index + 1; err == 0 && i <= index; i++) {
		uint32_t frame = e->s.first + i, caller = link;

		next = (uint32_t)a->links.count;
		err = int_map_enter(&a->donor_links, frame, next, &link);
		if (err < 0 || link != next)
			continue;
		err = links_add(a, &a->frames.items[frame]);
		if (err < 0)
			break;
		a->links.items[link].is_complete = !i;
		if (i)
			links_join(a, link, caller);
	}
	*ret_link = link;
	return err;
}

int donor_search(struct align *a, size_t position, uint32_t *link)
{
	const struct align_entry *e = &a->samples.items[a->order[position]];
	struct donor_search s = {.align = a, .partial = e, .position = position};
	uint32_t key = a->frame_keys.items[e->keys];
	const struct donor_path *best;
	bool is_inferred;

	if (!a->frames.items[e->s.first].height || a->donor_budget < DONOR_SEARCH_COST)
		return 0;
	spend(a, DONOR_SEARCH_COST);
	find_neighbours(&s);
	ask_stack(&s, key);
	ask_others(&s, key);
	best = donor_best(&s);
	if (!best)
		return 0;
	is_inferred = is_chain(a, best, *link);
	if (!accepts(&s, best, is_inferred))
		*link = LINKS_UNKNOWN;
	else if (!is_inferred)
		return donor_link(a, best->donor, best->n_callers - 1, link);
	return 0;
}
