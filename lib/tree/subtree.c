/* SPDX-License-Identifier: MIT */
/*
 * The part of the trie that some entries touch; see spots.h.
 *
 * An entry's path is climbed from its leaf until a node is met that has a spot already; what is
 * missing is then entered on the way down. So callers come first, and one pass from the last spot
 * to the first sums them up.
 *
 * `placed` remembers the spot of a trie node. Each run has a stamp of its own, so beginning one
 * costs nothing.
 */
#include "tree/subtree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/big.h"

#define SPOTS_MARKS 64 /* more than there are end reasons */
#define SPOTS_AHEAD 12 /* entries */

struct spots_place {
	uint32_t stamp; /* valid if it is the maker's */
	uint32_t spot;
};

struct spots_maker {
	struct profile *profile;
	const struct store_node *nodes;
	struct spots_place *placed; /* by trie node */
	uint32_t stamp;
	VEC(uint32_t) climb; /* trie nodes that have no spot yet, leaf first */
};

int spots_maker_new(struct profile *profile, struct spots_maker **ret_maker)
{
	const struct store_tables *t = profile_tables(profile);
	struct spots_maker *m = calloc(1, sizeof(*m));

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

void spots_maker_free(struct spots_maker *m)
{
	if (!m)
		return;
	free(m->placed);
	free(m->climb.items);
	free(m);
}

void spots_free(struct spots *spots)
{
	free(spots->items.items);
	free(spots->runs.items);
	*spots = (struct spots){0};
}

const struct profile_symbol *spots_mark(struct profile *profile, const struct profile_entry *entry)
{
	return entry->quality < PROFILE_PARTIAL
		       ? NULL
		       : profile_mark(profile, entry->end_reason, entry->origin);
}

/* There is room for it. */
static uint32_t spots_add(struct spots_maker *m, struct spots *spots, struct spots_run *run,
			  uint32_t node, uint32_t parent)
{
	uint32_t number = (uint32_t)spots->items.count++;
	uint32_t *list = parent == SPOTS_NONE ? &run->root : &spots->items.items[parent].first;

	spots->items.items[number] =
		(struct spot){.node = node, .parent = parent, .first = SPOTS_NONE, .next = *list};
	*list = number;
	m->placed[node] = (struct spots_place){m->stamp, number};
	return number;
}

/* Makes spots of an entry's path, as far as there are none, and counts its samples at the last. */
static int spots_touch(struct spots_maker *m, struct spots *spots, struct spots_run *run,
		       const struct profile_entry *entry)
{
	uint32_t parent = SPOTS_NONE;

	m->climb.count = 0;
	for (uint32_t at = entry->node; at; at = m->nodes[at].parent) {
		if (m->placed[at].stamp == m->stamp) {
			parent = m->placed[at].spot;
			break;
		}
		if (VEC_RESERVE(&m->climb, 1) < 0)
			return -ENOMEM;
		m->climb.items[m->climb.count++] = at;
	}
	if (spots->items.count + m->climb.count >= SPOTS_NONE ||
	    BIG_RESERVE(&spots->items, m->climb.count) < 0)
		return -ENOMEM;
	for (size_t i = m->climb.count; i-- > 0;)
		parent = spots_add(m, spots, run, m->climb.items[i], parent);
	spots->items.items[parent].samples += entry->samples;
	run->samples += entry->samples;
	return 0;
}

/* Asks for what a later entry will be looked up in: entries of one part lie apart in all three
 * arrays, and waiting for them is most of what touching them takes. */
static void spots_fetch(const struct spots_maker *m, const struct calltree_entries *of, size_t i)
{
	if (i + 2 * SPOTS_AHEAD < of->n)
		__builtin_prefetch(&of->entries[of->order[i + 2 * SPOTS_AHEAD]]);
	if (i + SPOTS_AHEAD < of->n) {
		uint32_t node = of->entries[of->order[i + SPOTS_AHEAD]].node;

		__builtin_prefetch(&m->nodes[node]);
		__builtin_prefetch(&m->placed[node], 1);
	}
}

/* The entries whose paths begin with `mark`, or without one. */
static int spots_run(struct spots_maker *m, const struct calltree_entries *of,
		     const struct profile_symbol *mark, struct spots *spots)
{
	struct spots_run run = {.mark = mark, .root = SPOTS_NONE};
	size_t first = spots->items.count;
	int r = 0;

	m->stamp++;
	for (size_t i = 0; r == 0 && i < of->n; i++) {
		const struct profile_entry *e = &of->entries[of->order[i]];

		spots_fetch(m, of, i);
		if (e->node && spots_mark(m->profile, e) == mark)
			r = spots_touch(m, spots, &run, e);
	}
	if (r == 0)
		r = VEC_RESERVE(&spots->runs, 1);
	if (r < 0)
		return r;
	for (size_t i = spots->items.count; i-- > first;) {
		const struct spot *spot = &spots->items.items[i];

		if (spot->parent != SPOTS_NONE)
			spots->items.items[spot->parent].samples += spot->samples;
	}
	spots->runs.items[spots->runs.count++] = run;
	return 0;
}

int spots_make(struct spots_maker *m, const struct calltree_entries *of, struct spots *spots)
{
	const struct profile_symbol *marks[SPOTS_MARKS];
	size_t n_marks = 0;
	int r = 0;

	spots->items.count = spots->runs.count = 0;
	for (size_t i = 0; i < of->n; i++) {
		const struct profile_symbol *mark =
			spots_mark(m->profile, &of->entries[of->order[i]]);
		size_t k = n_marks;

		while (k > 0 && marks[k - 1] != mark)
			k--;
		if (k == 0 && n_marks < SPOTS_MARKS)
			marks[n_marks++] = mark;
	}
	for (size_t i = 0; r == 0 && i < n_marks; i++)
		r = spots_run(m, of, marks[i], spots);
	return r;
}
