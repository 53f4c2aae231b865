/* SPDX-License-Identifier: MIT */
/*
 * Inside the call tree: calltree.c builds one from entries, calltree_large.c a part of it,
 * calltree_invert.c makes others of it.
 * No other module includes this.
 */
#ifndef TREE_CALLTREE_STATE_H
#define TREE_CALLTREE_STATE_H

#include "base/vec.h"
#include "tree/calltree.h"
#include "base/int_map.h"

struct calltree_index {
	uint32_t stamp; /* valid if it is the tree's */
	uint32_t at;
};

/* Samples that end in one node and whose frames are inferred down to another. */
struct calltree_inferred {
	uint32_t at, upto;
	uint64_t samples;
};

/* See calltree_large.c. */
struct calltree_arrival {
	uint32_t node, at; /* at: the tree's node */
};

struct calltree_large {
	VEC(struct calltree_arrival) level, next;
};

struct calltree {
	struct profile *profile;
	enum calltree_key key;
	struct calltree_node *nodes;
	uint32_t n_nodes;
	size_t cap_nodes;
	struct int_map children;      /* of nodes with many: (parent, key) -> node */
	struct calltree_index *index; /* by trie node; made at the first addition */
	uint32_t stamp;
	const struct profile_symbol *mark; /* that `stamp` stands for */
	uint32_t *climb;		   /* trie nodes on the way down */
	size_t cap_climb;
	VEC(struct calltree_inferred) inferred;
	struct calltree_large large;
};

/* The child of `parent` for a symbol, entered if it is new. 0 or -ENOMEM. */
int calltree_child(struct calltree *tree, uint32_t parent, const struct profile_symbol *symbol,
		   bool is_inlined, uint32_t *ret_child);

/* Where the paths with this mark (or NULL) begin. 0 or -ENOMEM. */
int calltree_begin(struct calltree *tree, const struct profile_symbol *mark, uint32_t *ret_at);

/* Steps from `at` over the frames of a location that are shown. 0 or -ENOMEM. */
int calltree_frames(struct calltree *tree, uint32_t location, uint32_t *at);

/* Keeps a trie node in `climb`, as the n-th; false for lack of memory. */
bool calltree_push(struct calltree *tree, uint32_t n, uint32_t trie_node);

#endif
