/* SPDX-License-Identifier: MIT */
/* Costs of steps along the call graph; see edge_costs.h. */
#include "tag/edge_costs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct edge_costs_row {
	const uint32_t *other; /* the callees, or the callers, of a node */
	uint32_t count;
	uint16_t *cost;
	uint32_t *seen;
};

static struct edge_costs_row edge_costs_row(const struct edge_costs *costs, uint32_t node,
					    bool down)
{
	struct edge_costs_row row;
	uint32_t first;

	row.other = (down ? callgraph_callees : callgraph_callers)(costs->graph, node, &row.count,
								   &first);
	row.cost = (down ? costs->down : costs->up) + first;
	row.seen = (down ? costs->seen_down : costs->seen_up) + first;
	return row;
}

static uint16_t edge_costs_of(double likelihood)
{
	double cost = -log2(likelihood) * EDGE_COSTS_BIT;

	return cost < EDGE_COSTS_STEP ? EDGE_COSTS_STEP : cost > 16000 ? 16000 : (uint16_t)cost;
}

uint32_t edge_costs_of_choice(uint64_t n)
{
	return n > 1 ? (uint32_t)(log2((double)n) * EDGE_COSTS_BIT) : 0;
}

static double edge_costs_weight(const struct edge_costs *costs, const struct edge_costs_row *row,
				uint32_t i)
{
	unsigned bits = callgraph_at(costs->graph, row->other[i])->unlikely;

	return row->seen[i] + (bits ? exp2(-(double)bits) : 1.0);
}

/* Computes the costs of a row's edges anew. Most edges of a long row have equal costs. */
static void row_update(const struct edge_costs *costs, const struct edge_costs_row *row)
{
	double total = 0, last = -1;
	uint16_t cost = 0;

	for (uint32_t i = 0; i < row->count; i++)
		total += edge_costs_weight(costs, row, i);
	for (uint32_t i = 0; i < row->count; i++) {
		double weight = edge_costs_weight(costs, row, i);

		if (weight != last)
			cost = edge_costs_of(weight / total);
		last = weight;
		row->cost[i] = cost;
	}
}

/* Sets the least cost by which steps from a node reach a real node. If transparent nodes are next
 * to it, their least costs must be known already. */
static void node_min(struct edge_costs *costs, uint32_t node, bool down)
{
	struct edge_costs_row row = edge_costs_row(costs, node, down);
	uint32_t *min = down ? costs->min_down : costs->min_up, least = EDGE_COSTS_NEVER;

	for (uint32_t i = 0; i < row.count; i++) {
		bool through = callgraph_at(costs->graph, row.other[i])->is_transparent;
		uint32_t on = through ? min[row.other[i]] : 0;

		if (down && callgraph_at(costs->graph, row.other[i])->is_leaf)
			continue;
		if (on != EDGE_COSTS_NEVER && on + row.cost[i] < least)
			least = on + row.cost[i];
	}
	min[node] = least;
}

static void fill(struct edge_costs *costs, bool down)
{
	uint32_t n = callgraph_count(costs->graph);

	for (uint32_t i = 0; i < n; i++) {
		struct edge_costs_row row = edge_costs_row(costs, i, down);

		row_update(costs, &row);
	}
	for (int real = 0; real < 2; real++)
		for (uint32_t i = 0; i < n; i++)
			if (callgraph_at(costs->graph, i)->is_transparent != real)
				node_min(costs, i, down);
}

int edge_costs_init(struct edge_costs *costs, const struct callgraph *graph)
{
	size_t nodes = (size_t)callgraph_count(graph) + 1, edges = callgraph_edge_count(graph) + 1;

	*costs = (struct edge_costs){
		.graph = graph,
		.down = calloc(edges, sizeof(*costs->down)),
		.up = calloc(edges, sizeof(*costs->up)),
		.seen_down = calloc(edges, sizeof(*costs->seen_down)),
		.seen_up = calloc(edges, sizeof(*costs->seen_up)),
		.min_down = calloc(nodes, sizeof(*costs->min_down)),
		.min_up = calloc(nodes, sizeof(*costs->min_up)),
	};
	if (!costs->down || !costs->up || !costs->seen_down || !costs->seen_up ||
	    !costs->min_down || !costs->min_up) {
		edge_costs_release(costs);
		return -ENOMEM;
	}
	fill(costs, true);
	fill(costs, false);
	return 0;
}

void edge_costs_release(struct edge_costs *costs)
{
	free(costs->down);
	free(costs->up);
	free(costs->seen_down);
	free(costs->seen_up);
	free(costs->min_down);
	free(costs->min_up);
	memset(costs, 0, sizeof(*costs));
}

static bool edge_costs_count(struct edge_costs *costs, uint32_t node, uint32_t other, bool down)
{
	struct edge_costs_row row = edge_costs_row(costs, node, down);

	for (uint32_t i = 0; i < row.count; i++) {
		if (row.other[i] != other)
			continue;
		if (row.seen[i] < UINT32_MAX / 2)
			row.seen[i]++;
		row_update(costs, &row);
		node_min(costs, node, down);
		return true;
	}
	return false;
}

static void learn_edge(struct edge_costs *costs, uint32_t caller, uint32_t callee)
{
	edge_costs_count(costs, caller, callee, true);
	edge_costs_count(costs, callee, caller, false);
}

void edge_costs_learn(struct edge_costs *costs, uint32_t caller, uint32_t callee)
{
	struct edge_costs_row row = edge_costs_row(costs, caller, true);

	if (edge_costs_count(costs, caller, callee, true)) {
		edge_costs_count(costs, callee, caller, false);
		return;
	}
	for (uint32_t i = 0; i < row.count; i++) {
		uint32_t hub = row.other[i];

		if (!callgraph_at(costs->graph, hub)->is_transparent ||
		    !edge_costs_count(costs, hub, callee, true))
			continue;
		learn_edge(costs, caller, hub);
		edge_costs_count(costs, callee, hub, false);
		return;
	}
}
