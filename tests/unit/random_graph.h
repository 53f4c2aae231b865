/* SPDX-License-Identifier: MIT */
/* Random call graphs and random walks in them, by seed: for tests and bench. */
#ifndef TESTS_UNIT_RANDOM_GRAPH_H
#define TESTS_UNIT_RANDOM_GRAPH_H

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "callgraph/callgraph.h"

struct random_source {
	uint64_t state;
};

static inline uint64_t random_next(struct random_source *random)
{
	random->state += UINT64_C(0x9e3779b97f4a7c15);
	return hash_mix64(random->state);
}

static inline uint32_t random_below(struct random_source *random, uint32_t n)
{
	return (uint32_t)((random_next(random) >> 32) * n >> 32);
}

/* A sealed graph of `nodes` nodes, each calling `degree` different ones, with random ids. NULL for
 * lack of memory. */
static inline struct callgraph *random_graph(struct random_source *random, uint32_t nodes,
					     uint32_t degree)
{
	struct callgraph *graph;
	uint32_t *order = calloc(nodes, sizeof(*order)), number;
	int err = order ? callgraph_new(&graph) : -1;

	if (err < 0) {
		free(order);
		return NULL;
	}
	for (uint32_t i = 0; err == 0 && i < nodes; i++) {
		char name[16];

		order[i] = i;
		snprintf(name, sizeof(name), "f%u", i);
		err = callgraph_node(graph, random_next(random), name, &number);
	}
	for (uint32_t i = 0; err == 0 && i < nodes; i++) {
		for (uint32_t k = 0; err == 0 && k < degree; k++) {
			uint32_t other = k + random_below(random, nodes - k), swap = order[k];

			order[k] = order[other];
			order[other] = swap;
			err = callgraph_edge(graph, i, order[k]);
		}
	}
	free(order);
	if (err == 0)
		err = callgraph_seal(graph);
	if (err < 0) {
		callgraph_free(graph);
		return NULL;
	}
	return graph;
}

/* A path of `n` nodes that begins with ret_nodes[0]. */
static inline void random_path(struct random_source *random, const struct callgraph *graph,
			       uint32_t *ret_nodes, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint32_t count, first;
		const uint32_t *callees =
			callgraph_callees(graph, ret_nodes[i - 1], &count, &first);

		ret_nodes[i] = callees[random_below(random, count)];
	}
}

#endif
