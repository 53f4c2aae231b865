/* SPDX-License-Identifier: MIT */
/*
 * The inside of a call tree: calltree.c builds a tree from entries, calltree_large.c builds only
 * its large nodes, calltree_invert.c makes other trees from it. No other module includes this.
 */
#ifndef TREE_CALLTREE_STATE_H
#define TREE_CALLTREE_STATE_H

#include "base/vec.h"
#include "tree/calltree.h"
#include "base/int_map.h"

/* The node of the tree where a trie node's frames end. */
struct calltree_index {
	uint32_t stamp; /* The entry is valid if this equals the tree's stamp. */
	uint32_t at;
};

/* Samples that end in node `at`, and whose frames from the root down to node `upto` are
 * inferred. */
struct calltree_inferred {
	uint32_t at, upto;
	uint64_t samples;
};

/* A node of a subtree (subtree.h) and the node of the tree where its frames end. */
struct calltree_arrival {
	uint32_t node, at;
};

/* The arrivals of two levels; see calltree_large.c. */
struct calltree_large {
	VEC(struct calltree_arrival) level, next;
};

struct calltree {
	struct profile *profile;
	enum calltree_key key;
	struct calltree_node *nodes;
	uint32_t n_nodes;
	size_t cap_nodes;
	struct int_map children;      /* for nodes with many children: (parent, key) -> node */
	struct calltree_index *index; /* by trie node; made by the first addition */
	uint32_t stamp;
	/* the root mark of the entries with the current stamp */
	const struct profile_symbol *mark;
	uint32_t *climb; /* trie nodes of a path, leaf first */
	size_t cap_climb;
	VEC(struct calltree_inferred) inferred;
	struct calltree_large large;
};

/* Finds the child of `parent` for a symbol, or makes it. Returns 0 or -ENOMEM. */
int calltree_child(struct calltree *tree, uint32_t parent, const struct profile_symbol *symbol,
		   bool is_inlined, uint32_t *ret_child);

/* Gives the node below which paths with a root mark (NULL: none) begin; entries of `index` with the
 * new `stamp` are valid for that mark. Returns 0 or -ENOMEM. */
int calltree_begin(struct calltree *tree, const struct profile_symbol *mark, uint32_t *ret_at);

/* Moves *at down along the frames of a location that are shown, making the missing nodes. Returns 0
 * or -ENOMEM. */
int calltree_frames(struct calltree *tree, uint32_t location, uint32_t *at);

/* Stores a trie node as climb[n]. Returns false if memory is short. */
bool calltree_push(struct calltree *tree, uint32_t n, uint32_t tag_trie_node);

#endif
