/* SPDX-License-Identifier: MIT */
/*
 * Compares ranks; see imbalance.h. Ranks are summed up one after the other, so memory grows with
 * the tree and not with the number of ranks.
 */
#include "tree/imbalance.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/text.h"
#include "base/vec.h"
#include "model/profile_ranks.h"

struct summing {
	struct profile *profile;
	const struct profile_entry *entries;
	const struct calltree_node *tree;
	uint64_t *rank_of;	/* by thread: its process's value of SERIES_MPI_RANK */
	uint32_t *order;	/* entries with a rank, by rank */
	uint32_t n;		/* number of these entries */
	struct int_map leaf_of; /* (node and end reason, origin) -> node of the tree */
	uint64_t *amounts;	/* amounts of the current rank, by node of the tree */
	uint32_t *touched;	/* nodes in which the current rank has an amount */
	uint32_t n_touched;
};

static int read_ranks(struct summing *s)
{
	const struct store_tables *t = profile_tables(s->profile);
	uint64_t *of_process = calloc((size_t)t->n_processes + 1, sizeof(*of_process));
	int err = of_process ? profile_ranks_read(s->profile, of_process) : -ENOMEM;

	s->rank_of = calloc((size_t)t->n_threads + 1, sizeof(*s->rank_of));
	if (!s->rank_of)
		err = -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < t->n_threads; i++) {
		const struct store_thread *thread = &t->threads[i];

		s->rank_of[i] = thread->labels ? thread->labels->rank : of_process[thread->process];
	}
	free(of_process);
	return err;
}

static int by_rank(const void *x, const void *y, void *arg)
{
	const struct summing *s = arg;
	uint32_t a = (uint32_t)s->rank_of[s->entries[*(const uint32_t *)x].thread];
	uint32_t b = (uint32_t)s->rank_of[s->entries[*(const uint32_t *)y].thread];

	return a < b ? -1 : a > b;
}

static uint32_t rank_at(const struct summing *s, uint32_t index)
{
	return (uint32_t)s->rank_of[s->entries[s->order[index]].thread];
}

/* Writes the numbers of the entries that have a rank to s->order, sorted by rank. Returns the
 * number of different ranks. */
static uint32_t order(struct summing *s, const uint32_t *entries, uint32_t n)
{
	uint32_t ranks = 0;

	for (uint32_t i = 0; i < n; i++)
		if ((uint32_t)s->rank_of[s->entries[entries[i]].thread])
			s->order[s->n++] = entries[i];
	qsort_r(s->order, s->n, sizeof(*s->order), by_rank, s);
	for (uint32_t i = 0; i < s->n; i++)
		ranks += !i || rank_at(s, i) != rank_at(s, i - 1);
	return ranks;
}

/* Finds the deepest node of the tree on the path of an entry. */
static int leaf(struct summing *s, const struct profile_entry *entry, uint32_t *ret_leaf)
{
	uint64_t key = (uint64_t)entry->node << 8 | entry->end_reason;
	uint32_t at = int_map_find_wide(&s->leaf_of, key, entry->origin), child = 0;
	const struct profile_frame *frames;
	size_t n;

	if (at != INT_MAP_NONE) {
		*ret_leaf = at;
		return 0;
	}
	frames = profile_frames(s->profile, entry->node, entry->end_reason, entry->origin, &n);
	if (!frames)
		return -ENOMEM;
	at = 0;
	for (size_t i = 0; i < n && child != CALLTREE_NONE; i++) {
		child = calltree_find_child(s->tree, at, &frames[i]);
		at = child == CALLTREE_NONE ? at : child;
	}
	return int_map_enter_wide(&s->leaf_of, key, entry->origin, at, ret_leaf);
}

static int add_entry(struct summing *s, const struct profile_entry *entry)
{
	uint64_t amount = profile_entry_amount(entry);
	uint32_t at = 0;
	int err = leaf(s, entry, &at);

	for (; err == 0 && amount; at = s->tree[at].parent) {
		if (!s->amounts[at])
			s->touched[s->n_touched++] = at;
		s->amounts[at] += amount;
		if (!at)
			break;
	}
	return err;
}

/* Compares a rank's sums with the largest so far, when all entries of the rank have been added, and
 * sets the sums back to 0. */
static void end_rank(struct summing *s, uint32_t rank, struct imbalance *imbalance)
{
	for (uint32_t i = 0; i < s->n_touched; i++) {
		struct imbalance_node *node = &imbalance->nodes[s->touched[i]];
		uint64_t amount = s->amounts[s->touched[i]];

		node->sum += amount;
		if (amount > node->most) {
			node->most = amount;
			node->rank = rank;
		}
		s->amounts[s->touched[i]] = 0;
	}
	s->n_touched = 0;
}

static int sum_up(struct summing *s, uint32_t n_nodes, struct imbalance *imbalance)
{
	int err = 0;

	imbalance->nodes = calloc(n_nodes, sizeof(*imbalance->nodes));
	s->amounts = calloc(n_nodes, sizeof(*s->amounts));
	s->touched = calloc(n_nodes, sizeof(*s->touched));
	if (!imbalance->nodes || !s->amounts || !s->touched)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < s->n; i++) {
		err = add_entry(s, &s->entries[s->order[i]]);
		if (i + 1 == s->n || rank_at(s, i + 1) != rank_at(s, i))
			end_rank(s, rank_at(s, i) - 1, imbalance);
	}
	return err;
}

int imbalance_make(struct profile *profile, const struct calltree *tree, const uint32_t *entries,
		   uint32_t n, struct imbalance *imbalance)
{
	struct summing s = {.profile = profile};
	uint32_t n_nodes;
	size_t n_entries;
	int err;

	imbalance_free(imbalance);
	s.entries = profile_entries(profile, &n_entries);
	s.tree = calltree_nodes(tree, &n_nodes);
	s.order = calloc((size_t)n + 1, sizeof(*s.order));
	err = s.order ? read_ranks(&s) : -ENOMEM;
	if (err == 0)
		imbalance->ranks = order(&s, entries, n);
	if (err == 0 && imbalance->ranks > 1)
		err = sum_up(&s, n_nodes, imbalance);
	if (err < 0)
		imbalance_free(imbalance);
	int_map_fini(&s.leaf_of);
	free(s.rank_of);
	free(s.order);
	free(s.amounts);
	free(s.touched);
	return err;
}

void imbalance_free(struct imbalance *imbalance)
{
	free(imbalance->nodes);
	*imbalance = (struct imbalance){0};
}

/* Returns the maximum divided by the mean over all ranks; 0: no rank has samples in the node. */
static double ratio_of(const struct imbalance *imbalance, uint32_t node)
{
	const struct imbalance_node *n = &imbalance->nodes[node];

	return n->sum ? (double)n->most * imbalance->ranks / (double)n->sum : 0;
}

void imbalance_put(const struct imbalance *imbalance, uint32_t node, struct buf *row)
{
	if (!imbalance->nodes[node].sum)
		text_printf(row, "%*s", IMBALANCE_COLUMN, "");
	else
		text_printf(row, "%10.2f %5" PRIu32, ratio_of(imbalance, node),
			    imbalance->nodes[node].rank);
}
