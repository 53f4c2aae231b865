/* SPDX-License-Identifier: MIT */
/*
 * A tree of frames as they are shown; see calltree.h.
 *
 * A path is added by climbing the trie from its leaf to the first trie node that already has a node
 * in this tree, then coming down again and adding the missing nodes. So a group of entries costs
 * one step for each trie node that it touches, not one for each frame of each path.
 *
 * Most nodes have one or two children. They are in a list, because searching a short list costs
 * less than a look-up in a map. If a node has many children, they are in the map `children`.
 *
 * `index` has the tree's node for a trie node. An entry is valid only for one tree and one root
 * mark (paths with another end reason are below another mark), so it has the stamp of tree and
 * mark. To invalidate all entries, it is enough to take a new stamp.
 */
#include "tree/calltree_state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/big.h"
#include "base/int_map.h"
#include "base/vec.h"

int calltree_new(struct profile *profile, enum calltree_key key, struct calltree **ret_tree)
{
	struct calltree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return -ENOMEM;
	tree->profile = profile;
	tree->key = key;
	tree->cap_nodes = 64;
	tree->nodes = calloc(tree->cap_nodes, sizeof(*tree->nodes));
	if (!tree->nodes) {
		calltree_free(tree);
		return -ENOMEM;
	}
	calltree_clear(tree);
	*ret_tree = tree;
	return 0;
}

void calltree_free(struct calltree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree->index);
	free(tree->climb);
	free(tree->inferred.items);
	free(tree->large.level.items);
	free(tree->large.next.items);
	int_map_fini(&tree->children);
	free(tree);
}

void calltree_clear(struct calltree *tree)
{
	tree->nodes[0] = (struct calltree_node){
		.symbol = CALLTREE_NONE,
		.parent = CALLTREE_NONE,
		.first_child = CALLTREE_NONE,
		.next_sibling = CALLTREE_NONE,
	};
	tree->n_nodes = 1;
	tree->inferred.count = 0;
	/* After a large process has made the map grow, clearing it would take as long for each
	 * small process that follows. */
	if (tree->children.slots > 16 * (tree->children.used + 64))
		int_map_fini(&tree->children);
	else
		int_map_clear(&tree->children);
	tree->stamp++;
	tree->mark = NULL;
}

static int append(struct calltree *tree, uint32_t parent, uint32_t symbol, bool is_inlined,
		  uint32_t key)
{
	if (tree->n_nodes >= UINT32_MAX / 4 ||
	    BIG_GROW(tree->nodes, tree->cap_nodes, (size_t)tree->n_nodes + 1) < 0)
		return -ENOMEM;
	tree->nodes[tree->n_nodes] = (struct calltree_node){
		.symbol = symbol,
		.parent = parent,
		.first_child = CALLTREE_NONE,
		.next_sibling = tree->nodes[parent].first_child,
		.key = key,
		.depth = tree->nodes[parent].depth + 1,
		.is_inlined = is_inlined,
	};
	if (tree->nodes[parent].n_children <= CALLTREE_LISTED)
		tree->nodes[parent].n_children++;
	tree->nodes[parent].first_child = tree->n_nodes++;
	return 0;
}

/* Finds the child of a node with a key; CALLTREE_NONE: there is none. If the node gets too many
 * children for a list, puts all of them into the map first. Returns 0 or -ENOMEM. */
static int calltree_find(struct calltree *tree, uint32_t parent, uint32_t key, uint32_t *ret_child)
{
	uint32_t at = tree->nodes[parent].first_child;

	if (tree->nodes[parent].n_children > CALLTREE_LISTED) {
		*ret_child = int_map_find(&tree->children, (uint64_t)parent << 32 | key);
		return 0;
	}
	while (at != CALLTREE_NONE && tree->nodes[at].key != key)
		at = tree->nodes[at].next_sibling;
	*ret_child = at;
	if (at != CALLTREE_NONE || tree->nodes[parent].n_children < CALLTREE_LISTED)
		return 0;
	for (at = tree->nodes[parent].first_child; at != CALLTREE_NONE;
	     at = tree->nodes[at].next_sibling) {
		uint64_t entry = (uint64_t)parent << 32 | tree->nodes[at].key;
		uint32_t same;
		int err = int_map_enter(&tree->children, entry, at, &same);

		if (err < 0)
			return err;
	}
	return 0;
}

/* Finds the child of `parent` with a key, or makes it, with this symbol. Returns 0 or -ENOMEM. */
static int enter(struct calltree *tree, uint32_t parent, uint32_t key, uint32_t symbol,
		 bool is_inlined, uint32_t *ret_child)
{
	uint32_t child;
	int err = calltree_find(tree, parent, key, &child);

	if (err == 0 && child == CALLTREE_NONE) {
		child = tree->n_nodes;
		if (tree->nodes[parent].n_children >= CALLTREE_LISTED)
			err = int_map_enter(&tree->children, (uint64_t)parent << 32 | key, child,
					    &child);
		if (err == 0)
			err = append(tree, parent, symbol, is_inlined, key);
	}
	if (err == 0)
		*ret_child = child;
	return err;
}

int calltree_child(struct calltree *tree, uint32_t parent, const struct profile_symbol *symbol,
		   bool is_inlined, uint32_t *ret_child)
{
	if (tree->key == CALLTREE_BY_NAME)
		return enter(tree, parent, symbol->name_number, symbol->number, false, ret_child);
	return enter(tree, parent, symbol->number << 1 | is_inlined, symbol->number, is_inlined,
		     ret_child);
}

/* Takes a new stamp if the root mark differs from that of the previous call. */
int calltree_begin(struct calltree *tree, const struct profile_symbol *mark, uint32_t *ret_at)
{
	if (!tree->index) {
		uint32_t n = profile_tables(tree->profile)->n_nodes;

		tree->index = big_calloc((size_t)n + 1, sizeof(*tree->index));
		if (!tree->index)
			return -ENOMEM;
	}
	if (mark != tree->mark) {
		tree->mark = mark;
		tree->stamp++;
	}
	*ret_at = 0;
	return mark ? calltree_child(tree, 0, mark, false, ret_at) : 0;
}

/* Moves *at to its child for a frame, or does nothing if the filter hides the frame. `key` is the
 * frame's key of profile_location_keys(). Returns 0 or -ENOMEM. */
static int calltree_step(struct calltree *tree, const struct profile_filter *filter, uint32_t key,
			 uint32_t *at)
{
	const struct calltree_node *node = &tree->nodes[*at];
	uint32_t symbol = key >> 1;
	bool is_inlined = key & 1;

	if (filter->no_inlined && is_inlined)
		return 0;
	if (filter->max_depth && node->depth >= filter->max_depth)
		return 0;
	if (filter->fold_recursion && node->symbol == symbol)
		return 0;
	if (tree->key == CALLTREE_BY_NAME)
		return calltree_child(tree, *at, profile_symbol_at(tree->profile, symbol), false,
				      at);
	return enter(tree, *at, key, symbol, is_inlined, at);
}

int calltree_frames(struct calltree *tree, uint32_t location, uint32_t *at)
{
	const struct profile_filter *filter = profile_filter(tree->profile);
	const uint32_t *keys;
	size_t count;
	int err = 0;

	keys = profile_location_keys(tree->profile, location, &count);
	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++)
		err = calltree_step(tree, filter, keys[i], at);
	return err;
}

/* Moves *at down along the frames of one trie node, making the missing nodes, and notes the result
 * in `index`. Returns 0 or -ENOMEM. */
static int enter_frames(struct calltree *tree, uint32_t tag_trie_node, uint32_t *at)
{
	const struct store_tables *t = profile_tables(tree->profile);
	int err = calltree_frames(tree, t->nodes[tag_trie_node].location, at);

	if (err == 0)
		tree->index[tag_trie_node] =
			(struct calltree_index){.stamp = tree->stamp, .at = *at};
	return err;
}

bool calltree_push(struct calltree *tree, uint32_t n, uint32_t tag_trie_node)
{
	if (VEC_GROW(tree->climb, tree->cap_climb, (size_t)n + 1) < 0)
		return false;
	tree->climb[n] = tag_trie_node;
	return true;
}

/* Notes that the first frames of a path that was just added are inferred. Returns 0 or -ENOMEM. */
static int add_inferred(struct calltree *tree, const struct profile_entry *entry, uint32_t at)
{
	const struct store_node *nodes = profile_tables(tree->profile)->nodes;
	uint32_t depth = 0, node = entry->node;
	uint32_t inferred = origin_inferred(profile_origin(tree->profile, entry->origin));

	for (uint32_t up = node; up; up = nodes[up].parent)
		depth++;
	for (; depth > inferred; depth--)
		node = nodes[node].parent;
	if (!inferred || !node)
		return 0;
	if (VEC_RESERVE(&tree->inferred, 1) < 0)
		return -ENOMEM;
	node = tree->index[node].at;
	tree->inferred.items[tree->inferred.count++] =
		(struct calltree_inferred){at, node, profile_entry_amount(entry)};
	tree->nodes[node].inferred += profile_entry_amount(entry);
	return 0;
}

int calltree_add(struct calltree *tree, const struct profile_entry *entry)
{
	const struct store_tables *t = profile_tables(tree->profile);
	uint32_t n = 0, at, start;
	int err;

	err = calltree_begin(tree, profile_entry_mark(tree->profile, entry), &at);
	for (start = entry->node; err == 0 && start; start = t->nodes[start].parent) {
		if (tree->index[start].stamp == tree->stamp) {
			at = tree->index[start].at;
			break;
		}
		if (!calltree_push(tree, n++, start))
			err = -ENOMEM;
	}
	while (err == 0 && n)
		err = enter_frames(tree, tree->climb[--n], &at);
	if (err == 0 && at == 0)
		err = calltree_child(tree, 0, profile_no_frames(tree->profile), false, &at);
	if (err == 0)
		tree->nodes[at].self += profile_entry_amount(entry);
	return err == 0 && entry->origin ? add_inferred(tree, entry, at) : err;
}

void calltree_sum(struct calltree *tree)
{
	for (uint32_t i = 0; i < tree->n_nodes; i++)
		tree->nodes[i].samples = tree->nodes[i].self;
	for (uint32_t i = tree->n_nodes - 1; i > 0; i--) {
		tree->nodes[tree->nodes[i].parent].samples += tree->nodes[i].samples;
		tree->nodes[tree->nodes[i].parent].inferred += tree->nodes[i].inferred;
	}
	tree->nodes[0].inferred = 0;
	for (uint32_t at = tree->nodes[0].first_child; at != CALLTREE_NONE;
	     at = tree->nodes[at].next_sibling)
		if (calltree_symbol(tree, at)->is_mark)
			tree->nodes[at].inferred = 0;
}

const struct calltree_node *calltree_nodes(const struct calltree *tree, uint32_t *ret_count)
{
	*ret_count = tree->n_nodes;
	return tree->nodes;
}

const struct profile_symbol *calltree_symbol(const struct calltree *tree, uint32_t node)
{
	return profile_symbol_at(tree->profile, tree->nodes[node].symbol);
}

uint32_t calltree_find_child(const struct calltree_node *nodes, uint32_t parent,
			     const struct profile_frame *frame)
{
	uint32_t at = nodes[parent].first_child;

	while (at != CALLTREE_NONE && (nodes[at].symbol != frame->symbol->number ||
				       nodes[at].is_inlined != frame->is_inlined))
		at = nodes[at].next_sibling;
	return at;
}
