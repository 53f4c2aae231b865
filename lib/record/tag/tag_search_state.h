/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the search: construction (tag_search_new.c), searching (tag_search.c). */
#ifndef TAG_TAG_SEARCH_STATE_H
#define TAG_TAG_SEARCH_STATE_H

#include "base/vec.h"
#include "tag/tag_prefixes.h"
#include "tag/tag_anchors.h"
#include "tag/tag_search.h"

#define TAG_SEARCH_PATHS 64		      /* kept of one answer */
#define TAG_SEARCH_ODD	 (2 * EDGE_COSTS_BIT) /* for what is possible and unlikely */

/* A node of the walk that is still to be expanded. */
struct tag_search_state {
	uint64_t tag; /* of the path above the node */
	uint32_t node;
	uint32_t cost;
	uint32_t depth; /* nodes below it */
	uint32_t run;	/* how often the node stands below itself in a row, itself included */
};

/* The fields of a node that the walk reads, side by side. After learning, `least` may be too large:
 * then the walk reaches the node's callers later than it could. */
struct tag_search_node {
	uint64_t id;
	uint32_t least; /* edge_costs.min_up */
	bool is_transparent;
};

struct tag_search {
	const struct callgraph *graph;
	struct edge_costs costs;
	struct tag_prefixes prefixes;
	struct tag_search_options options;
	struct tag_search_node *nodes;
	VEC(struct tag_search_state) stack;
	VEC(uint32_t) path;   /* of the state being expanded: nodes by depth, leaf first */
	uint32_t limit, next; /* of the walk; the cheapest thing beyond it */
	uint64_t steps, until_look;
	uint64_t start_ns, deadline_ns;
	bool is_over, is_cut;
	const struct tag_search_query *query;
	struct tag_anchors anchors;
	uint32_t anchor, n_below; /* what was come to; CALLGRAPH_NONE: nothing */
	uint32_t *below;	  /* owned */
	struct tag_search_path paths[TAG_SEARCH_PATHS];
	size_t n_paths;
};

void tag_search_forget(struct tag_search *search); /* the last answer */

/* Whether paths can begin with a node, by the graph. */
bool tag_search_is_entry(const struct callgraph *graph, uint32_t node);

#endif
