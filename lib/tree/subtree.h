/* SPDX-License-Identifier: MIT */
/*
 * The part of the trie that some entries touch: each node once, callers first, with the samples of
 * it and all below it. What a tree of large nodes (calltree.h) is made of.
 *
 * Only numbers of the trie and of entries are looked at, no names; so one thread may make the spots
 * of one part while another shows those of the part before.
 */
#ifndef TREE_SUBTREE_H
#define TREE_SUBTREE_H

#include "base/vec.h"
#include "model/profile.h"

#define SUBTREE_NONE UINT32_MAX

/* Entries of the profile: some, by number. */
struct subtree_entries {
	const struct profile_entry *entries;
	const uint32_t *order;
	size_t n;
};

struct subtree_node {
	uint32_t node;	      /* of the trie */
	uint32_t parent;      /* subtree_node; SUBTREE_NONE: a root */
	uint32_t first, next; /* children, as a list */
	uint64_t samples;     /* of the node and all below it */
};

/* The spots of paths that begin with one mark, or without one; entries without any frame are in
 * none. */
struct subtree_run {
	const struct profile_symbol *mark; /* or NULL */
	uint32_t root;			   /* the first subtree_node of the list of roots */
	uint64_t samples;
};

/* Zeroed is empty. */
struct subtree {
	VEC(struct subtree_node) nodes;
	VEC(struct subtree_run) runs;
};
void subtree_free(struct subtree *subtree);

struct subtree_maker;

/* Borrows the profile. 0 or -ENOMEM. */
int subtree_maker_new(const struct profile *profile, struct subtree_maker **ret_maker);
void subtree_maker_free(struct subtree_maker *maker);

/* Fills `spots` anew, using its memory. 0 or -ENOMEM. */
int subtree_make(struct subtree_maker *maker, const struct subtree_entries *of,
		 struct subtree *subtree);

#endif
