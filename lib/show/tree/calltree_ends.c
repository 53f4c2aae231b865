/* SPDX-License-Identifier: MIT */
/*
 * Finds how far down paths matter to a view that shows no small nodes; see calltree.h.
 *
 * Trie nodes are visited in the order of their numbers, so callers come first, and each is looked
 * up among the children of its caller's tree node. Below a small node nothing is looked up: so this
 * costs a step for each trie node, and a search for each large node and its children.
 */
#include "tree/calltree_state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/big.h"

#define ENDS_SMALL   UINT32_MAX /* paths may end at this trie node, or at the end of its caller */
#define ENDS_UNKNOWN (UINT32_MAX - 1) /* no path of the tree without a mark goes through it */

/* Returns the child of a node with a key; CALLTREE_NONE: it has none. */
static uint32_t child_of(const struct calltree *tree, uint32_t parent, uint32_t key)
{
	uint32_t at = tree->nodes[parent].first_child;

	if (tree->nodes[parent].n_children > CALLTREE_LISTED) {
		at = int_map_find(&tree->children, (uint64_t)parent << 32 | key);
		return at == INT_MAP_NONE ? CALLTREE_NONE : at;
	}
	while (at != CALLTREE_NONE && tree->nodes[at].key != key)
		at = tree->nodes[at].next_sibling;
	return at;
}

/* Returns the tree node of a trie node whose caller's is `at`: its number, ENDS_SMALL or
 * ENDS_UNKNOWN. */
static uint32_t tree_node(const struct calltree *tree, uint32_t at, uint32_t location, double least)
{
	const bool no_inlined = profile_filter(tree->profile)->no_inlined;
	size_t n;
	const uint32_t *keys = profile_location_keys(tree->profile, location, &n);

	for (size_t i = 0; keys && i < n; i++) {
		if (no_inlined && keys[i] & 1)
			continue;
		at = child_of(tree, at, keys[i]);
		if (at == CALLTREE_NONE)
			return ENDS_UNKNOWN;
	}
	return !keys ? ENDS_UNKNOWN : (double)tree->nodes[at].samples < least ? ENDS_SMALL : at;
}

int calltree_ends(const struct calltree *tree, double least, uint32_t **ret_ends)
{
	const struct store_tables *t = profile_tables(tree->profile);
	uint32_t *ends = big_calloc((size_t)t->n_nodes + 1, sizeof(*ends));
	uint32_t *at = big_calloc((size_t)t->n_nodes + 1, sizeof(*at));

	for (uint32_t n = 1; ends && at && n < t->n_nodes; n++) {
		const uint32_t parent = t->nodes[n].parent;

		ends[n] = n;
		if (parent >= n || at[parent] == ENDS_UNKNOWN) {
			at[n] = ENDS_UNKNOWN;
		} else if (at[parent] == ENDS_SMALL) {
			at[n] = ENDS_SMALL;
			ends[n] = ends[parent];
		} else {
			at[n] = tree_node(tree, at[parent], t->nodes[n].location, least);
		}
	}
	free(at);
	if (!ends || !at) {
		free(ends);
		return -ENOMEM;
	}
	*ret_ends = ends;
	return 0;
}
