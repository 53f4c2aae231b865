/* SPDX-License-Identifier: MIT */
/* Adds up the weights of each node's tree, and sorts; see rare.h. A node's parent has a smaller
 * number and at least its sum, so with smaller numbers first among equal sums, each choice is
 * complete. */
#include "rows/rare.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

struct node_sum {
	uint64_t weight;
	uint32_t node;
};

static int larger_first(const void *left, const void *right)
{
	const struct node_sum *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* Marks the nodes that the entries need. */
static void mark(const struct store_tables *t, const struct profile_entry *entries, size_t n,
		 bool *nodes)
{
	for (size_t i = 0; i < n; i++)
		nodes[entries[i].node] = true;
	for (uint32_t i = t->n_nodes; i-- > 1;)
		if (nodes[i])
			nodes[t->nodes[i].parent] = true;
}

/* Returns the sums of the nodes that are marked, and sets *ret_count to their number. NULL: there
 * is no memory. */
static struct node_sum *sum_up(const struct store_tables *t, const struct profile_entry *entries,
			       size_t n, const bool *nodes, size_t *ret_count)
{
	struct node_sum *sums = calloc((size_t)t->n_nodes + 1, sizeof(*sums));
	size_t count = 0;

	for (size_t i = 0; sums && i < n; i++)
		sums[entries[i].node].weight += entries[i].weight;
	for (uint32_t i = sums ? t->n_nodes : 0; i-- > 1;)
		sums[t->nodes[i].parent].weight += sums[i].weight;
	for (uint32_t i = 1; sums && i < t->n_nodes; i++)
		if (nodes[i])
			sums[count++] = (struct node_sum){sums[i].weight, i};
	*ret_count = count;
	return sums;
}

int rare_choose(struct profile *profile, size_t most, bool *nodes)
{
	const struct store_tables *t = profile_tables(profile);
	struct node_sum *sums;
	size_t n, count;
	const struct profile_entry *entries = profile_entries(profile, &n);

	mark(t, entries, n, nodes);
	if (!most)
		return 0;
	sums = sum_up(t, entries, n, nodes, &count);
	if (!sums)
		return -ENOMEM;
	if (count > most) {
		qsort(sums, count, sizeof(*sums), larger_first);
		for (size_t i = most; i < count; i++)
			nodes[sums[i].node] = false;
	}
	free(sums);
	return 0;
}

uint32_t rare_keeper(const struct store_tables *t, const bool *nodes, uint32_t node)
{
	while (node && !nodes[node])
		node = t->nodes[node].parent;
	return node;
}

uint64_t rare_file_id(void)
{
	uint64_t id = 0;

	for (const char *c = RARE_NAME; *c; c++)
		id = hash_mix64(id + (uint8_t)*c);
	return id;
}
