/* SPDX-License-Identifier: MIT */
/*
 * Finds the part of the trie that some entries touch; see subtree.h.
 *
 * An entry's path is climbed from its leaf to the first trie node that already has a subtree_node;
 * the missing subtree_nodes are then added on the way down. So callers have smaller numbers than
 * their callees, and one pass from the last subtree_node to the first adds up the sums.
 *
 * `index` has the subtree_node of a trie node. Each run has a stamp, which its entries have as
 * well, so entries of earlier runs need not be cleared.
 */
#include "tree/subtree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/big.h"

#define SUBTREE_MARKS 64 /* most root marks in a part; there are fewer end reasons */
#define SUBTREE_AHEAD 12 /* entries between a prefetch and its use */

struct subtree_index {
	uint32_t stamp; /* The element is valid if this equals the maker's stamp. */
	uint32_t node;	/* number of the subtree_node */
};

struct subtree_maker {
	const struct profile *profile;
	const struct store_node *nodes;
	struct subtree_index *index; /* by trie node */
	uint32_t stamp;
	VEC(uint32_t) climb; /* trie nodes that have no subtree_node yet, leaf first */
};

int subtree_maker_new(const struct profile *profile, struct subtree_maker **ret_maker)
{
	const struct store_tables *t = profile_tables(profile);
	struct subtree_maker *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->profile = profile;
	m->nodes = t->nodes;
	m->index = big_calloc((size_t)t->n_nodes + 1, sizeof(*m->index));
	if (!m->index) {
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
	free(m->index);
	free(m->climb.items);
	free(m);
}

void subtree_free(struct subtree *subtree)
{
	free(subtree->nodes.items);
	free(subtree->runs.items);
	*subtree = (struct subtree){0};
}

/* Appends a subtree_node, for which the caller has made room, to its parent's list of children. */
static uint32_t subtree_add(struct subtree_maker *m, struct subtree *subtree,
			    struct subtree_run *run, uint32_t node, uint32_t parent)
{
	uint32_t number = (uint32_t)subtree->nodes.count++;
	uint32_t *list = parent == SUBTREE_NONE ? &run->root : &subtree->nodes.items[parent].first;

	subtree->nodes.items[number] = (struct subtree_node){
		.node = node, .parent = parent, .first = SUBTREE_NONE, .next = *list};
	*list = number;
	m->index[node] = (struct subtree_index){m->stamp, number};
	return number;
}

/* Makes the missing subtree_nodes of an entry's path, and adds the entry's samples to its leaf. */
static int touch(struct subtree_maker *m, struct subtree *subtree, struct subtree_run *run,
		 const struct profile_entry *entry)
{
	uint32_t parent = SUBTREE_NONE;

	m->climb.count = 0;
	for (uint32_t at = entry->node; at; at = m->nodes[at].parent) {
		if (m->index[at].stamp == m->stamp) {
			parent = m->index[at].node;
			break;
		}
		if (VEC_RESERVE(&m->climb, 1) < 0)
			return -ENOMEM;
		m->climb.items[m->climb.count++] = at;
	}
	if (subtree->nodes.count + m->climb.count >= SUBTREE_NONE ||
	    BIG_RESERVE(&subtree->nodes, m->climb.count) < 0)
		return -ENOMEM;
	for (size_t i = m->climb.count; i-- > 0;)
		parent = subtree_add(m, subtree, run, m->climb.items[i], parent);
	subtree->nodes.items[parent].samples += profile_entry_amount(entry);
	run->samples += profile_entry_amount(entry);
	return 0;
}

/* Prefetches what the look-up of a later entry will read. What a part needs is scattered over three
 * large arrays, so without this most of the time would be cache misses. */
static void fetch(const struct subtree_maker *m, const struct subtree_entries *of, size_t i)
{
	if (i + 2 * SUBTREE_AHEAD < of->n)
		__builtin_prefetch(&of->entries[of->order[i + 2 * SUBTREE_AHEAD]]);
	if (i + SUBTREE_AHEAD < of->n) {
		uint32_t node = of->entries[of->order[i + SUBTREE_AHEAD]].node;

		__builtin_prefetch(&m->nodes[node]);
		__builtin_prefetch(&m->index[node], 1);
	}
}

/* Adds the run of the entries whose paths begin with `mark`, or without a mark. */
static int subtree_run(struct subtree_maker *m, const struct subtree_entries *of,
		       const struct profile_symbol *mark, struct subtree *subtree)
{
	struct subtree_run run = {.mark = mark, .root = SUBTREE_NONE};
	size_t first = subtree->nodes.count;
	int err = 0;

	m->stamp++;
	for (size_t i = 0; err == 0 && i < of->n; i++) {
		const struct profile_entry *e = &of->entries[of->order[i]];

		fetch(m, of, i);
		if (e->node && profile_entry_mark(m->profile, e) == mark)
			err = touch(m, subtree, &run, e);
	}
	if (err == 0)
		err = VEC_RESERVE(&subtree->runs, 1);
	if (err < 0)
		return err;
	for (size_t i = subtree->nodes.count; i-- > first;) {
		const struct subtree_node *node = &subtree->nodes.items[i];

		if (node->parent != SUBTREE_NONE)
			subtree->nodes.items[node->parent].samples += node->samples;
	}
	subtree->runs.items[subtree->runs.count++] = run;
	return 0;
}

int subtree_make(struct subtree_maker *m, const struct subtree_entries *of, struct subtree *subtree)
{
	const struct profile_symbol *marks[SUBTREE_MARKS];
	size_t n_marks = 0;
	int err = 0;

	subtree->nodes.count = subtree->runs.count = 0;
	for (size_t i = 0; i < of->n; i++) {
		const struct profile_symbol *mark =
			profile_entry_mark(m->profile, &of->entries[of->order[i]]);
		size_t k = n_marks;

		while (k > 0 && marks[k - 1] != mark)
			k--;
		if (k == 0 && n_marks < SUBTREE_MARKS)
			marks[n_marks++] = mark;
	}
	for (size_t i = 0; err == 0 && i < n_marks; i++)
		err = subtree_run(m, of, marks[i], subtree);
	return err;
}
