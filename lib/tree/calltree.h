/* SPDX-License-Identifier: MIT */
/*
 * A tree of shown frames with counts: the trie of a recording, named and merged. Different call
 * sites of one function become one node, inlined functions get nodes of their own, and paths that
 * are incomplete hang under a mark.
 *
 * Two kinds: calltree_add() builds it from the root down; calltree_invert() makes of such a tree
 * the one of callers, which has a function on top and its callers below it.
 */
#ifndef TREE_CALLTREE_H
#define TREE_CALLTREE_H

#include "model/profile.h"
#include "tree/subtree.h"

#define CALLTREE_NONE	UINT32_MAX
#define CALLTREE_LISTED 8 /* children that are looked for in the list; more are in an index */

/* Node 0 is the top: it has no symbol, and its samples are all samples. A child's number is
 * larger than its parent's. */
struct calltree_node {
	uint32_t symbol; /* its number; CALLTREE_NONE for node 0 */
	uint32_t parent;
	uint32_t first_child, next_sibling; /* CALLTREE_NONE ends the list */
	uint64_t samples;		    /* of the node and everything below it */
	uint64_t self;			    /* of paths that end here */
	uint64_t inferred;	 /* of `samples`, those in which this frame is inferred */
	uint32_t key;		 /* what it is told apart from its siblings by */
	uint32_t depth : 27;	 /* below node 0 */
	uint32_t n_children : 4; /* up to CALLTREE_LISTED + 1 */
	uint32_t is_inlined : 1;
};

enum calltree_key {
	CALLTREE_BY_SYMBOL, /* functions of different objects are different */
	CALLTREE_BY_NAME,   /* equal names are equal */
};

struct calltree;

/* An empty tree. The profile is borrowed. 0 or -ENOMEM. */
int calltree_new(struct profile *profile, enum calltree_key key, struct calltree **ret_tree);
void calltree_free(struct calltree *tree);

/* Empties the tree, keeping its memory. */
void calltree_clear(struct calltree *tree);

/* Adds the samples of an entry of the profile. Quickest for entries in the order of groups.h. 0 or
 * -ENOMEM. */
int calltree_add(struct calltree *tree, const struct profile_entry *entry);

/* Adds entries to an empty tree, whose spots are made already (spots.h), but in full only where
 * there are `least` samples: a node with fewer has what it calls as its own. Much quicker, where
 * that is enough. 0 or -ENOMEM. */
int calltree_add_large(struct calltree *tree, const struct subtree_entries *of,
		       const struct subtree *subtree, double least);

/* Whether it can be done for the profile, as its filter has paths shown. */
bool calltree_can_add_large(const struct profile *profile);

/* Works out `samples` and `inferred` of all nodes from what was added; call once, after the last
 * addition. */
void calltree_sum(struct calltree *tree);

/* Limits of a tree of callers, which can be far larger than the one that it is made of. */
struct calltree_limits {
	double percent;	    /* below this share of all samples a node gets no callers */
	uint32_t max_depth; /* levels of callers */
	uint32_t max_nodes;
};

/* Makes `ret_callers` (empty, of the same profile) the tree of callers of `tree`, summed up.
 * `self` of its nodes is what entered there: the samples whose root frame it is.
 * *ret_cut tells whether max_depth or max_nodes left anything out. 0 or -ENOMEM. */
int calltree_invert(const struct calltree *tree, const struct calltree_limits *limits,
		    struct calltree *callers, bool *ret_cut);

/* What is around the functions that `is_asked` marks, by symbol number: `callers`, the tree of
 * those that lead to them, and `callees`, of what they lead to; both have the functions at their
 * top, are empty and of the same profile before, and summed up after. A sample counts once, at
 * the outermost call of a function that is asked for. */
int calltree_around(const struct calltree *tree, const bool *is_asked,
		    const struct calltree_limits *limits, struct calltree *callers,
		    struct calltree *callees, bool *ret_cut);

/* Both live until the next addition. */
const struct calltree_node *calltree_nodes(const struct calltree *tree, uint32_t *ret_count);
const struct profile_symbol *calltree_symbol(const struct calltree *tree, uint32_t node);

#endif
