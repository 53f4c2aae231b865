/* SPDX-License-Identifier: MIT */
/*
 * A tree of frames as they are shown, with counts, made from the trie of a recording: different
 * call sites of one function become one node, inlined functions have nodes of their own, and
 * incomplete paths are below their root mark.
 *
 * There are two kinds: calltree_add() builds a tree from the root down; calltree_invert() turns
 * such a tree into the tree of callers, which has a function on top and its callers below it.
 */
#ifndef TREE_CALLTREE_H
#define TREE_CALLTREE_H

#include "model/profile.h"
#include "tree/subtree.h"

#define CALLTREE_NONE UINT32_MAX
#define CALLTREE_LISTED                                                                            \
	8 /* children that are searched as a list; nodes with more have an index                   \
	   */

/* Node 0 is the top: it has no symbol and counts all samples. A child's number is larger than its
 * parent's. */
struct calltree_node {
	uint32_t symbol; /* number of the node's symbol; CALLTREE_NONE for node 0 */
	uint32_t parent;
	uint32_t first_child, next_sibling; /* CALLTREE_NONE ends the list */
	uint64_t samples;		    /* of the node and everything below it */
	uint64_t self;			    /* samples whose path ends here */
	uint64_t inferred;		    /* of `samples`, those whose frame here is inferred */
	/* identifies the node among its siblings: number of its symbol or name, and whether it is
	 * inlined */
	uint32_t key;
	uint32_t depth : 27;	 /* distance from node 0 */
	uint32_t n_children : 4; /* children, but at most CALLTREE_LISTED + 1 */
	uint32_t is_inlined : 1;
};

enum calltree_key {
	CALLTREE_BY_SYMBOL, /* functions of different objects are different nodes */
	CALLTREE_BY_NAME,   /* functions of equal name are one node */
};

struct calltree;

/* Makes an empty tree. The profile is borrowed and must outlive it. Returns 0 or -ENOMEM. */
int calltree_new(struct profile *profile, enum calltree_key key, struct calltree **ret_tree);
void calltree_free(struct calltree *tree); /* NULL is allowed */

/* Empties the tree and keeps its memory for the next one. */
void calltree_clear(struct calltree *tree);

/* Adds the samples of an entry of the profile. It is fastest if entries are added in the order of
 * groups.h. Returns 0 or -ENOMEM. */
int calltree_add(struct calltree *tree, const struct profile_entry *entry);

/* Adds entries to an empty tree, but makes no nodes below a node of fewer than `least` samples: the
 * samples of its callees count as its own. `subtree` must have been made from the same entries
 * (subtree.h). Returns 0 or -ENOMEM. */
int calltree_add_large(struct calltree *tree, const struct subtree_entries *of,
		       const struct subtree *subtree, double least);

/* For views of parts of a profile that show no node of fewer than `least` samples: gives for each
 * trie node the one at which a path without a root mark may end instead, with the same view. That
 * is the node itself, or the first one from the root on whose node in `tree`, which has all of the
 * profile, is smaller. calltree_can_add_large() must hold, and the filter have no max_depth. The
 * caller frees *ret_ends. Returns 0 or -ENOMEM. */
int calltree_ends(const struct calltree *tree, double least, uint32_t **ret_ends);

/* Returns whether calltree_add_large() is possible for the profile; it is not if the filter folds
 * recursion. */
bool calltree_can_add_large(const struct profile *profile);

/* Sums up `samples` and `inferred` of all nodes. Call it once, after the last addition. */
void calltree_sum(struct calltree *tree);

/* Limits of a tree of callers, which can be far larger than the tree from which it is made. */
struct calltree_limits {
	double percent;	    /* a node below this share of all samples gets no callers */
	uint32_t max_depth; /* levels of callers */
	uint32_t max_nodes;
};

/* Fills `callers`, an empty tree of the same profile, with the tree of callers of `tree`, and sums
 * it up. `self` of a node counts the samples for which the node's frame is the root frame. *ret_cut
 * is set to whether max_depth or max_nodes left anything out. Returns 0 or -ENOMEM. */
int calltree_invert(const struct calltree *tree, const struct calltree_limits *limits,
		    struct calltree *callers, bool *ret_cut);

/* Fills two empty trees of the same profile for the functions that `is_asked` marks, by symbol
 * number: `callers` with the functions that call these functions, directly or through others, and
 * `callees` with those that they call. Both trees have the marked functions at their top and are
 * summed up. A sample counts once, at the outermost call of a marked function. Returns as
 * calltree_invert() does. */
int calltree_around(const struct calltree *tree, const bool *is_asked,
		    const struct calltree_limits *limits, struct calltree *callers,
		    struct calltree *callees, bool *ret_cut);

/* Returns all nodes by number. The array is owned by the tree and lives until the next addition. */
const struct calltree_node *calltree_nodes(const struct calltree *tree, uint32_t *ret_count);

/* Returns the child of a node for a frame, in a tree whose nodes are by symbol; CALLTREE_NONE:
 * there is none. */
uint32_t calltree_find_child(const struct calltree_node *nodes, uint32_t parent,
			     const struct profile_frame *frame);

/* Returns the symbol of a node other than 0; it lives as long as the profile. */
const struct profile_symbol *calltree_symbol(const struct calltree *tree, uint32_t node);

#endif
