/* SPDX-License-Identifier: MIT */
/*
 * A tree as answers have it: what is large enough to be seen of a call tree, in depth-first order,
 * children by name, and behind them one node "other" with the sum of those that are too small.
 */
#ifndef WEB_NODES_H
#define WEB_NODES_H

#include "tree/calltree.h"
#include "web/ask.h"
#include "web/words.h"

struct nodes_node {
	int32_t parent; /* -1: none */
	uint32_t frame;
	uint64_t self, total, inferred;
};

/* A zeroed struct is empty. The owner frees nodes.items. */
struct nodes {
	VEC(struct nodes_node) nodes;
	uint64_t left_out; /* frames in nodes "other", without those below them */
	size_t bytes;	   /* that the nodes take in the answer, about */
};

/* Appends the subtree of `root`, whose own frame is `frame`, below node `parent`. Nodes below
 * `least` become "other". Returns 0; 1: the answer would be too large; -ECANCELED or -ENOMEM. */
int nodes_add(const struct ask *ask, const struct calltree *tree, uint32_t root, uint32_t frame,
	      int32_t parent, double least, struct words *words, struct nodes *nodes);

/* Empties it and keeps its memory. */
void nodes_clear(struct nodes *nodes);

/* Writes the columns as an object. */
void nodes_put(const struct nodes *nodes, const char *key, struct json *j);

#endif
