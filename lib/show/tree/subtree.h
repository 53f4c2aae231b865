/* SPDX-License-Identifier: MIT */
/*
 * The subtree of the trie that some entries touch: each node once, callers first, with the samples
 * of the node and of everything below it. calltree_add_large() (calltree.h) builds its tree from
 * it.
 *
 * Making a subtree needs only the trie and entries, no names. So one thread may make the subtree of
 * one part of a report while another thread shows the part before.
 */
#ifndef TREE_SUBTREE_H
#define TREE_SUBTREE_H

#include "base/vec.h"
#include "model/profile.h"

#define SUBTREE_NONE UINT32_MAX

/* Some entries of a profile: entries[order[i]] for each i below n. Both arrays are borrowed. */
struct subtree_entries {
	const struct profile_entry *entries;
	const uint32_t *order;
	size_t n;
};

struct subtree_node {
	uint32_t node;	 /* number of the node in the trie */
	uint32_t parent; /* number of its parent in the subtree; SUBTREE_NONE for a root */
	/* number of its first child in the subtree, and of its next sibling; SUBTREE_NONE ends the
	 * list */
	uint32_t first, next;
	uint64_t samples; /* of the node and everything below it */
};

/* A run: the nodes of all paths that begin with the same root mark, or of all that have none.
 * Entries without frames are in no run. */
struct subtree_run {
	const struct profile_symbol *mark; /* the root mark, or NULL */
	uint32_t root;			   /* its first root; the others follow by `next` */
	uint64_t samples;
};

/* A zeroed subtree is empty. */
struct subtree {
	VEC(struct subtree_node) nodes;
	VEC(struct subtree_run) runs;
};

/* Frees the arrays and empties the subtree. */
void subtree_free(struct subtree *subtree);

struct subtree_maker;

/* Makes a maker, whose memory is reused for one subtree after the other. The profile is borrowed
 * and must outlive it. Returns 0 or -ENOMEM. */
int subtree_maker_new(const struct profile *profile, struct subtree_maker **ret_maker);
void subtree_maker_free(struct subtree_maker *maker); /* NULL is allowed */

/* Empties `subtree` and fills it from entries, reusing its memory. Two threads must not use one
 * maker at the same time. Returns 0 or -ENOMEM. */
int subtree_make(struct subtree_maker *maker, const struct subtree_entries *of,
		 struct subtree *subtree);

#endif
