/* SPDX-License-Identifier: MIT */
/*
 * The part of the trie that some entries touch; see spots.h.
 *
 * An entry's path is climbed from its leaf until a node is met that has a subtree_node already;
 * what is missing is then entered on the way down. So callers come first, and one pass from the
 * last subtree_node to the first sums them up.
 *
 * `placed` remembers the subtree_node of a trie node. Each run has a stamp of its own, so beginning
 * one costs nothing.
 */
#include "tree/subtree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/big.h"

#define SUBTREE_MARKS 64 /* more than there are end reasons */
#define SUBTREE_AHEAD 12 /* entries */

struct subtree_place {
	uint32_t stamp; /* valid if it is the maker's */
	uint32_t subtree_node;
};

struct subtree_maker {
	struct profile *profile;
	const struct store_node *nodes;
	struct subtree_place *placed; /* by trie node */
	uint32_t stamp;
	VEC(uint32_t) climb; /* trie nodes that have no subtree_node yet, leaf first */
};

int subtree_maker_new(struct profile *profile, struct subtree_maker **ret_maker)
{
	const struct store_tables *t = profile_tables(profile);
	struct subtree_maker *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->profile = profile;
	m->nodes = t->nodes;
	m->placed = big_calloc((size_t)t->n_nodes + 1, sizeof(*m->placed));
	if (!m->placed) {
		free(m);
		return -ENOMEM;
	}
	*ret_maker = m;
	return 0;
}

void subtree_maker_free(struct subtree_maker *m)
{
	if (!m)
		return;
	free(m->placed);
	free(m->climb.items);
	free(m);
}

void subtree_free(struct subtree *spots)
{
	free(spots->items.items);
	free(spots->runs.items);
	*spots = (struct subtree){0};
}

const struct profile_symbol *subtree_mark(struct profile *profile,
					  const struct profile_entry *entry)
{
	return entry->quality < PROFILE_PARTIAL
		       ? NULL
		       : profile_mark(profile, entry->end_reason, entry->origin);
}

/* There is room for it. */
static uint32_t subtree_add(struct subtree_maker *m, struct subtree *spots, struct subtree_run *run,
			    uint32_t node, uint32_t parent)
{
	uint32_t number = (uint32_t)spots->items.count++;
	uint32_t *list = parent == SUBTREE_NONE ? &run->root : &spots->items.items[parent].first;

	spots->items.items[number] = (struct subtree_node){
		.node = node, .parent = parent, .first = SUBTREE_NONE, .next = *list};
	*list = number;
	m->placed[node] = (struct subtree_place){m->stamp, number};
	return number;
}

/* Makes spots of an entry's path, as far as there are none, and counts its samples at the last. */
static int touch(struct subtree_maker *m, struct subtree *spots, struct subtree_run *run,
		 const struct profile_entry *entry)
{
	uint32_t parent = SUBTREE_NONE;

	m->climb.count = 0;
	for (uint32_t at = entry->node; at; at = m->nodes[at].parent) {
		if (m->placed[at].stamp == m->stamp) {
			parent = m->placed[at].subtree_node;
			break;
		}
		if (VEC_RESERVE(&m->climb, 1) < 0)
			return -ENOMEM;
		m->climb.items[m->climb.count++] = at;
	}
	if (spots->items.count + m->climb.count >= SUBTREE_NONE ||
	    BIG_RESERVE(&spots->items, m->climb.count) < 0)
		return -ENOMEM;
	for (size_t i = m->climb.count; i-- > 0;)
		parent = subtree_add(m, spots, run, m->climb.items[i], parent);
	spots->items.items[parent].samples += entry->samples;
	run->samples += entry->samples;
	return 0;
}

/* Asks for what a later entry will be looked up in: entries of one part lie apart in all three
 * arrays, and waiting for them is most of what touching them takes. */
static void fetch(const struct subtree_maker *m, const struct subtree_entries *of, size_t i)
{
	if (i + 2 * SUBTREE_AHEAD < of->n)
		__builtin_prefetch(&of->entries[of->order[i + 2 * SUBTREE_AHEAD]]);
	if (i + SUBTREE_AHEAD < of->n) {
		uint32_t node = of->entries[of->order[i + SUBTREE_AHEAD]].node;

		__builtin_prefetch(&m->nodes[node]);
		__builtin_prefetch(&m->placed[node], 1);
	}
}

/* The entries whose paths begin with `mark`, or without one. */
static int subtree_run(struct subtree_maker *m, const struct subtree_entries *of,
		       const struct profile_symbol *mark, struct subtree *spots)
{
	struct subtree_run run = {.mark = mark, .root = SUBTREE_NONE};
	size_t first = spots->items.count;
	int r = 0;

	m->stamp++;
	for (size_t i = 0; r == 0 && i < of->n; i++) {
		const struct profile_entry *e = &of->entries[of->order[i]];

		fetch(m, of, i);
		if (e->node && subtree_mark(m->profile, e) == mark)
			r = touch(m, spots, &run, e);
	}
	if (r == 0)
		r = VEC_RESERVE(&spots->runs, 1);
	if (r < 0)
		return r;
	for (size_t i = spots->items.count; i-- > first;) {
		const struct subtree_node *subtree_node = &spots->items.items[i];

		if (subtree_node->parent != SUBTREE_NONE)
			spots->items.items[subtree_node->parent].samples += subtree_node->samples;
	}
	spots->runs.items[spots->runs.count++] = run;
	return 0;
}

int subtree_make(struct subtree_maker *m, const struct subtree_entries *of, struct subtree *spots)
{
	const struct profile_symbol *marks[SUBTREE_MARKS];
	size_t n_marks = 0;
	int r = 0;

	spots->items.count = spots->runs.count = 0;
	for (size_t i = 0; i < of->n; i++) {
		const struct profile_symbol *mark =
			subtree_mark(m->profile, &of->entries[of->order[i]]);
		size_t k = n_marks;

		while (k > 0 && marks[k - 1] != mark)
			k--;
		if (k == 0 && n_marks < SUBTREE_MARKS)
			marks[n_marks++] = mark;
	}
	for (size_t i = 0; r == 0 && i < n_marks; i++)
		r = subtree_run(m, of, marks[i], spots);
	return r;
}
