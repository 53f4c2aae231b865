/* SPDX-License-Identifier: MIT */
/*
 * The large nodes of a call tree; see calltree.h.
 *
 * A text report shows the rows above a limit, some hundred of the millions of nodes that a long
 * recording has. Whether a node is large is known before its children are looked at:
 *
 *   entries ─► spots: the trie nodes that they touch, callers first, each once
 *           ─► sums, from the last spot to the first
 *           ─► level by level from the root: spots become nodes of the tree (those of equal
 *              functions the same one); where all of a level are in, the small nodes are known,
 *              and what is below their spots is theirs
 *
 * All spots of one node are on one level, since a path of frames has as many trie nodes as frames
 * that are not inlined. Folding recursion breaks that, so it is not done here.
 *
 * So a location is named, and a node made, for large nodes and their children alone.
 */
#include "report/calltree_state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/big.h"

#define LARGE_NONE  UINT32_MAX
#define LARGE_AHEAD 12 /* entries */
#define LARGE_MARKS 64 /* more than there are end reasons */

struct large_work {
	struct calltree *tree;
	struct calltree_large *state; /* the tree's: kept from part to part */
	double least;
	uint32_t root; /* first of the root spots' list */
};

static int large_add_spot(struct large_work *w, uint32_t node, uint32_t parent)
{
	uint32_t number = (uint32_t)w->state->spots.count;
	uint32_t *list;

	if (BIG_RESERVE(&w->state->spots, 1) < 0 || number >= LARGE_NONE - 1)
		return -ENOMEM;
	list = parent == LARGE_NONE ? &w->root : &w->state->spots.items[parent].first;
	w->state->spots.items[w->state->spots.count++] = (struct large_spot){
		.node = node, .parent = parent, .first = LARGE_NONE, .next = *list};
	*list = number;
	w->tree->placed[node] = (struct calltree_place){.stamp = w->tree->stamp, .at = number};
	return 0;
}

/* Makes spots of an entry's path, as far as there are none, and counts its samples at the last. */
static int large_touch(struct large_work *w, const struct profile_entry *entry)
{
	const struct store_node *nodes = profile_tables(w->tree->profile)->nodes;
	uint32_t n = 0, at, parent = LARGE_NONE;
	int r = 0;

	for (at = entry->node; r == 0 && at; at = nodes[at].parent) {
		if (w->tree->placed[at].stamp == w->tree->stamp) {
			parent = w->tree->placed[at].at;
			break;
		}
		if (!calltree_push(w->tree, n++, at))
			r = -ENOMEM;
	}
	while (r == 0 && n) {
		r = large_add_spot(w, w->tree->climb[--n], parent);
		parent = (uint32_t)w->state->spots.count - 1;
	}
	if (r == 0)
		w->state->spots.items[parent].samples += entry->samples;
	return r;
}

static void large_sum(struct large_work *w)
{
	for (size_t i = w->state->spots.count; i-- > 0;) {
		const struct large_spot *spot = &w->state->spots.items[i];

		if (spot->parent != LARGE_NONE)
			w->state->spots.items[spot->parent].samples += spot->samples;
	}
}

/* Counts a spot's samples where it arrived, and no longer at its caller. Functions inlined between
 * the two are large if what arrives in them, or goes through them, is. */
static void large_count(struct calltree *tree, uint32_t from, uint32_t to, uint64_t samples)
{
	tree->nodes[from].self -= samples;
	tree->nodes[to].self += samples;
	for (; to != from; to = tree->nodes[to].parent)
		tree->nodes[to].samples += samples;
}

/* Gives the spots of a list, whose caller is the tree's node `at`, their nodes. */
static int large_arrive(struct large_work *w, uint32_t list, uint32_t at)
{
	const struct store_node *nodes = profile_tables(w->tree->profile)->nodes;
	struct calltree *tree = w->tree;

	for (uint32_t i = list; i != LARGE_NONE; i = w->state->spots.items[i].next) {
		const struct large_spot *spot = &w->state->spots.items[i];
		struct large_arrival arrival = {i, at};
		int r = calltree_frames(tree, nodes[spot->node].location, &arrival.at);

		if (r == 0)
			r = VEC_RESERVE(&w->state->next, 1);
		if (r < 0)
			return r;
		large_count(tree, at, arrival.at, spot->samples);
		w->state->next.items[w->state->next.count++] = arrival;
	}
	return 0;
}

/* The next level: the spots that arrived last are those whose children may arrive. */
static void large_turn(struct large_work *w)
{
	struct large_arrival *items = w->state->level.items;
	size_t cap = w->state->level.cap;

	w->state->level.items = w->state->next.items;
	w->state->level.count = w->state->next.count;
	w->state->level.cap = w->state->next.cap;
	w->state->next.items = items;
	w->state->next.count = 0;
	w->state->next.cap = cap;
}

static int large_descend(struct large_work *w)
{
	int r = 0;

	while (r == 0 && w->state->next.count) {
		large_turn(w);
		for (size_t i = 0; r == 0 && i < w->state->level.count; i++) {
			struct large_arrival a = w->state->level.items[i];

			if ((double)w->tree->nodes[a.at].samples >= w->least)
				r = large_arrive(w, w->state->spots.items[a.spot].first, a.at);
		}
	}
	return r;
}

static const struct profile_symbol *large_mark(const struct large_work *w,
					       const struct profile_entry *e)
{
	return e->quality < PROFILE_PARTIAL
		       ? NULL
		       : profile_mark(w->tree->profile, e->end_reason, e->origin);
}

/* Asks for what a later entry will be looked up in: entries of one part lie apart in all three
 * arrays, and waiting for them is most of what touching them takes. */
static void large_fetch(const struct large_work *w, const struct calltree_entries *of, size_t i)
{
	if (i + 2 * LARGE_AHEAD < of->n)
		__builtin_prefetch(&of->entries[of->order[i + 2 * LARGE_AHEAD]]);
	if (i + LARGE_AHEAD < of->n) {
		uint32_t node = of->entries[of->order[i + LARGE_AHEAD]].node;

		__builtin_prefetch(&profile_tables(w->tree->profile)->nodes[node]);
		__builtin_prefetch(&w->tree->placed[node], 1);
	}
}

/* The entries whose paths begin with `mark`, or without one. */
static int large_run(struct large_work *w, const struct calltree_entries *of,
		     const struct profile_symbol *mark)
{
	struct calltree *tree = w->tree;
	uint64_t samples = 0;
	uint32_t at;
	int r = calltree_begin(tree, mark, &at);

	tree->stamp++; /* what is placed now are spots */
	w->state->spots.count = w->state->level.count = w->state->next.count = 0;
	w->root = LARGE_NONE;
	for (size_t i = 0; r == 0 && i < of->n; i++) {
		const struct profile_entry *e = &of->entries[of->order[i]];

		large_fetch(w, of, i);
		if (!e->node || large_mark(w, e) != mark)
			continue;
		r = large_touch(w, e);
		samples += e->samples;
	}
	if (r < 0)
		return r;
	large_sum(w);
	tree->nodes[at].self += samples;
	tree->nodes[at].samples += samples;
	r = large_arrive(w, w->root, at);
	if (r == 0)
		r = large_descend(w);
	tree->stamp++;
	return r;
}

/* Which marks there are: each is a run. Paths without any frame are added as always. */
static int large_run_all(struct large_work *w, const struct calltree_entries *of)
{
	const struct profile_symbol *marks[LARGE_MARKS];
	size_t n_marks = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < of->n; i++) {
		const struct profile_entry *e = &of->entries[of->order[i]];
		const struct profile_symbol *mark = large_mark(w, e);
		size_t k = n_marks;

		if (!e->node)
			r = calltree_add(w->tree, e);
		while (k > 0 && marks[k - 1] != mark)
			k--;
		if (k == 0 && n_marks < LARGE_MARKS)
			marks[n_marks++] = mark;
	}
	for (size_t i = 0; r == 0 && i < n_marks; i++)
		r = large_run(w, of, marks[i]);
	return r;
}

/* Where the samples of an entry arrived, and where the last of its inferred frames did: both are
 * the same where what called it is small already. */
static int large_find(struct large_work *w, const struct profile_entry *entry, uint32_t inferred,
		      struct calltree_inferred *ret_part)
{
	const struct store_node *nodes = profile_tables(w->tree->profile)->nodes;
	struct calltree_inferred part = {.samples = entry->samples};
	uint32_t n = 0, depth = 0;
	int r = 0;

	for (uint32_t at = entry->node; r == 0 && at; at = nodes[at].parent)
		r = calltree_push(w->tree, n++, at) ? 0 : -ENOMEM;
	if (r == 0)
		r = calltree_begin(w->tree, large_mark(w, entry), &part.at);
	part.upto = part.at;
	while (r == 0 && depth < n &&
	       (!depth || (double)w->tree->nodes[part.at].samples >= w->least)) {
		r = calltree_frames(w->tree, nodes[w->tree->climb[n - ++depth]].location, &part.at);
		if (depth <= inferred)
			part.upto = part.at;
	}
	*ret_part = part;
	return r;
}

/* Notes which frames of an entry are inferred. */
static int large_infer(struct large_work *w, const struct profile_entry *entry)
{
	struct calltree *tree = w->tree;
	uint32_t inferred = origin_inferred(profile_origin(tree->profile, entry->origin));
	struct calltree_inferred part;
	int r;

	if (!inferred || !entry->node)
		return 0;
	r = large_find(w, entry, inferred, &part);
	if (r == 0)
		r = VEC_RESERVE(&tree->inferred, 1);
	if (r < 0)
		return r;
	tree->inferred.items[tree->inferred.count++] = part;
	tree->nodes[part.upto].inferred += part.samples;
	return 0;
}

int calltree_add_large(struct calltree *tree, const struct calltree_entries *of, double least)
{
	struct large_work w = {.tree = tree, .state = &tree->large, .least = least};
	bool is_level = !profile_filter(tree->profile)->fold_recursion;
	int r = is_level ? large_run_all(&w, of) : 0;

	for (size_t i = 0; r == 0 && i < of->n; i++) {
		const struct profile_entry *e = &of->entries[of->order[i]];

		if (!is_level)
			r = calltree_add(tree, e);
		else if (e->origin)
			r = large_infer(&w, e);
	}
	return r;
}
