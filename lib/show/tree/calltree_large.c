/* SPDX-License-Identifier: MIT */
/*
 * Builds only the large nodes of a call tree; see calltree.h.
 *
 * A text report shows only the rows above a limit: some hundred of the millions of nodes of a long
 * recording. Here it is known whether a node is large before its children are made:
 *
 *   entries ─► subtree: the trie nodes that they touch, with their sums (subtree.h)
 *           ─► level by level from the root: subtree_nodes become nodes of the tree (those of equal
 *              functions the same node). When a level is complete, its small nodes are known, and
 *              a small node keeps the samples of everything below it as its own
 *
 * All subtree_nodes of one tree node are on one level, since a path has as many trie nodes as
 * frames that are not inlined. With folded recursion that is not so; then this cannot be used
 * (calltree_can_add_large()).
 *
 * So locations are named, and nodes made, only for large nodes and their children.
 */
#include "tree/calltree_state.h"

#include <errno.h>
#include <stdlib.h>

struct large_work {
	struct calltree *tree;
	const struct subtree *subtree;
	struct calltree_large *state; /* owned by the tree, which reuses it for each part */
	double least;
};

/* Moves the samples of a subtree_node from tree node `from`, that of its caller, to `to`, its own.
 * Nodes of inlined functions between the two get the samples as well. */
static void large_count(struct calltree *tree, uint32_t from, uint32_t to, uint64_t samples)
{
	tree->nodes[from].self -= samples;
	tree->nodes[to].self += samples;
	for (; to != from; to = tree->nodes[to].parent)
		tree->nodes[to].samples += samples;
}

/* Makes the tree nodes of a list of subtree_nodes, whose caller's tree node is `at`. */
static int large_arrive(struct large_work *w, uint32_t list, uint32_t at)
{
	const struct store_node *nodes = profile_tables(w->tree->profile)->nodes;
	struct calltree *tree = w->tree;

	for (uint32_t i = list; i != SUBTREE_NONE; i = w->subtree->nodes.items[i].next) {
		const struct subtree_node *node = &w->subtree->nodes.items[i];
		struct calltree_arrival arrival = {i, at};
		int err = calltree_frames(tree, nodes[node->node].location, &arrival.at);

		if (err == 0)
			err = VEC_RESERVE(&w->state->next, 1);
		if (err < 0)
			return err;
		large_count(tree, at, arrival.at, node->samples);
		w->state->next.items[w->state->next.count++] = arrival;
	}
	return 0;
}

/* Goes on to the next level: the subtree_nodes that just got tree nodes become the parents. */
static void large_turn(struct large_work *w)
{
	struct calltree_arrival *items = w->state->level.items;
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
	int err = 0;

	while (err == 0 && w->state->next.count) {
		large_turn(w);
		for (size_t i = 0; err == 0 && i < w->state->level.count; i++) {
			struct calltree_arrival a = w->state->level.items[i];

			if ((double)w->tree->nodes[a.at].samples >= w->least)
				err = large_arrive(w, w->subtree->nodes.items[a.node].first, a.at);
		}
	}
	return err;
}

static int large_run(struct large_work *w, const struct subtree_run *run)
{
	struct calltree *tree = w->tree;
	uint32_t at;
	int err = calltree_begin(tree, run->mark, &at);

	if (err < 0)
		return err;
	w->state->level.count = w->state->next.count = 0;
	tree->nodes[at].self += run->samples;
	tree->nodes[at].samples += run->samples;
	err = large_arrive(w, run->root, at);
	return err < 0 ? err : large_descend(w);
}

/* Finds the tree node that has an entry's samples, and the tree node of its last inferred frame. If
 * a caller of that frame is below the limit, both are the node of this caller, which has the
 * samples. Returns 0 or -ENOMEM. */
static int large_find(struct large_work *w, const struct profile_entry *entry, uint32_t inferred,
		      struct calltree_inferred *ret_part)
{
	const struct store_node *nodes = profile_tables(w->tree->profile)->nodes;
	struct calltree_inferred part = {.samples = profile_entry_amount(entry)};
	uint32_t n = 0, depth = 0;
	int err = 0;

	for (uint32_t at = entry->node; err == 0 && at; at = nodes[at].parent)
		err = calltree_push(w->tree, n++, at) ? 0 : -ENOMEM;
	if (err == 0)
		err = calltree_begin(w->tree, profile_entry_mark(w->tree->profile, entry),
				     &part.at);
	part.upto = part.at;
	while (err == 0 && depth < n &&
	       (!depth || (double)w->tree->nodes[part.at].samples >= w->least)) {
		err = calltree_frames(w->tree, nodes[w->tree->climb[n - ++depth]].location,
				      &part.at);
		if (depth <= inferred)
			part.upto = part.at;
	}
	*ret_part = part;
	return err;
}

/* Records which frames of an entry are inferred. */
static int large_infer(struct large_work *w, const struct profile_entry *entry)
{
	struct calltree *tree = w->tree;
	uint32_t inferred = origin_inferred(profile_origin(tree->profile, entry->origin));
	struct calltree_inferred part;
	int err;

	if (!inferred || !entry->node)
		return 0;
	err = large_find(w, entry, inferred, &part);
	if (err == 0)
		err = VEC_RESERVE(&tree->inferred, 1);
	if (err < 0)
		return err;
	tree->inferred.items[tree->inferred.count++] = part;
	tree->nodes[part.upto].inferred += part.samples;
	return 0;
}

bool calltree_can_add_large(const struct profile *profile)
{
	return !profile_filter(profile)->fold_recursion;
}

int calltree_add_large(struct calltree *tree, const struct subtree_entries *of,
		       const struct subtree *subtree, double least)
{
	struct large_work w = {
		.tree = tree, .subtree = subtree, .state = &tree->large, .least = least};
	int err = 0;

	for (size_t i = 0; err == 0 && i < subtree->runs.count; i++)
		err = large_run(&w, &subtree->runs.items[i]);
	for (size_t i = 0; err == 0 && i < of->n; i++) {
		const struct profile_entry *e = &of->entries[of->order[i]];

		if (!e->node)
			err = calltree_add(tree, e);
		else if (e->origin)
			err = large_infer(&w, e);
	}
	return err;
}
