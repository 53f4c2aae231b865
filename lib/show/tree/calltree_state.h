/* SPDX-License-Identifier: MIT */
/*
 * The inside of a call tree: calltree.c builds one from entries, calltree_large.c builds its large
 * nodes only, calltree_invert.c derives other trees. No other module includes this.
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

/* Samples that end in node `at` and whose frames are inferred from the root down to node `upto`. */
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
	/* the root mark that the entries with the current stamp belong to */
	const struct profile_symbol *mark;
	uint32_t *climb; /* trie nodes of a path, leaf first */
	size_t cap_climb;
	VEC(struct calltree_inferred) inferred;
	struct calltree_large large;
};

/* Returns the child of `parent` for a symbol, and makes it if it is new. Returns 0 or -ENOMEM. */
int calltree_child(struct calltree *tree, uint32_t parent, const struct profile_symbol *symbol,
		   bool is_inlined, uint32_t *ret_child);

/* Gives the node below which paths with a root mark (NULL: none) begin, and makes `stamp` stand for
 * that mark. Returns 0 or -ENOMEM. */
int calltree_begin(struct calltree *tree, const struct profile_symbol *mark, uint32_t *ret_at);

/* Moves *at down over the shown frames of a location, making nodes. Returns 0 or -ENOMEM. */
int calltree_frames(struct calltree *tree, uint32_t location, uint32_t *at);

/* Stores a trie node as climb[n]. Returns false if memory is short. */
bool calltree_push(struct calltree *tree, uint32_t n, uint32_t tag_trie_node);

#endif
