/* SPDX-License-Identifier: MIT */
/*
 * The tree that a flame graph draws: the call paths of one profile, or of two profiles in one tree,
 * below a node for each part (command, process, ...). Its numbers are those of the report's trees.
 */
#ifndef EXPORT_FLAME_H
#define EXPORT_FLAME_H

#include "report/report.h"

#define FLAME_NONE  UINT32_MAX
#define FLAME_SIDES 2

/* Node 0 is the root, and stands for everything. A child's number is larger than its parent's. */
struct flame_node {
	uint64_t total[FLAME_SIDES], self[FLAME_SIDES]; /* samples */
	/* of the last side's `total`, the samples whose frame here is inferred */
	uint64_t inferred;
	uint32_t symbol : 31;
	uint32_t is_inlined : 1;
	uint32_t parent, first_child, next; /* numbers of nodes; FLAME_NONE: there is none */
};

enum flame_kind {
	FLAME_PART,
	FLAME_USER,
	FLAME_KERNEL,
	FLAME_MARK,
	FLAME_WAIT,    /* the reason of a blocked wait */
	FLAME_READY,   /* the reason of runnable time */
	FLAME_MANAGED, /* a function that an interpreter runs */
	FLAME_KINDS
};

struct flame_symbol {
	const char *name, *object; /* escaped for display (base/text.h) */
	uint32_t object_number;	   /* dense, from 0 */
	enum flame_kind kind;
};

struct flame;

/* Makes a tree without samples; `n_sides` is 1 or 2. Returns 0 or -ENOMEM. */
int flame_new(unsigned n_sides, struct flame **ret_flame);
void flame_free(struct flame *flame);

/* Adds a profile's samples to a side. Returns 0 or -ENOMEM. */
int flame_add(struct flame *flame, struct profile *profile, enum partition_by by, unsigned side);

/* Returns the number of sides: 1, or 2 for a comparison. */
unsigned flame_sides(const struct flame *flame);

/* Returns the nodes, parents before children; they live until the next flame_add(). */
const struct flame_node *flame_nodes(const struct flame *flame, uint32_t *ret_count);

/* Returns the symbols that nodes refer to by number; they live as the nodes do. */
const struct flame_symbol *flame_symbols(const struct flame *flame, uint32_t *ret_count);

/* Returns the number of objects that symbols refer to. */
uint32_t flame_objects(const struct flame *flame);

/* Returns a node's weight: the larger of its shares in the two sides, times the samples of the
 * larger side. */
double flame_weight(const struct flame *flame, const struct flame_node *node);

/* Removes nodes whose weight is below `least` from the lists of children, and sorts the lists by
 * samples of the last side, most first. Returns how many nodes are left, node 0 included, or
 * -ENOMEM. */
int64_t flame_cut(struct flame *flame, double least);

#endif
