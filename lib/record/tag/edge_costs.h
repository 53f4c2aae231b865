/* SPDX-License-Identifier: MIT */
/*
 * The cost of a step along the call graph in the search: minus the binary logarithm of its
 * likelihood, in 1/64 bit. So about 2^bits paths lie within a cost, and a chain of single callees
 * costs nothing.
 *
 * A node is a function or location of a tag's chain ("real"), or a transparent one, through which
 * calls pass but whose id enters no tag (callgraph/callgraph.h). At first all callees of a function
 * (and, in the other direction, all its callers) are equally likely. Every decoded path teaches: an
 * edge seen k times, of n edges seen s times in all, has the likelihood (k + 1) / (s + n). For an
 * edge through a transparent node that the graph marks as unlikely, the 1 is less.
 */
#ifndef PLUGIN_EDGE_COSTS_H
#define PLUGIN_EDGE_COSTS_H

#include "callgraph/callgraph.h"

#define EDGE_COSTS_BIT 64u /* cost that stands for one bit */
/* the least cost of an edge, since a cycle without cost would never end */
#define EDGE_COSTS_STEP	 4u
#define EDGE_COSTS_NEVER UINT32_MAX

struct edge_costs {
	const struct callgraph *graph;
	/* by number of the edge: the cost of a step to the callee, and of a step to the caller */
	uint16_t *down, *up;
	/* by number of the edge: in how many decoded paths it was a step down, and a step up */
	uint32_t *seen_down, *seen_up;
	/* by node: the least cost of a walk to a real node (downwards, to one that is not a leaf);
	 * EDGE_COSTS_NEVER: no such node can be reached */
	uint32_t *min_down, *min_up;
};

/* Computes the costs of a graph, which is borrowed and must be sealed (complete). Returns 0 or
 * -ENOMEM. */
int edge_costs_init(struct edge_costs *costs, const struct callgraph *graph);
void edge_costs_release(struct edge_costs *costs);

/* Learns an observed call between two real nodes; does nothing if the graph lacks the call. */
void edge_costs_learn(struct edge_costs *costs, uint32_t caller, uint32_t callee);

/* Returns the cost of one of `n` equally likely choices. */
uint32_t edge_costs_of_choice(uint64_t n);

#endif
