/* SPDX-License-Identifier: MIT */
/*
 * Finds the call paths that have a tag, from a call graph alone.
 *
 * Besnard et al. (2019, section 3) enumerate all paths from the root and compare tags. A step of
 * the tag's hash chain can be undone, so the search here goes from both ends and meets in the
 * middle: a table of prefixes from the roots (tag/tag_prefixes.h), and a walk backwards from the
 * tag, which removes one possible leaf after another and looks the rest up in the table. That
 * squares the number of paths covered by a given amount of work. Both halves go from likely to
 * unlikely (tag/edge_costs.h).
 *
 * A search keeps what it learns: decoded paths speed up later ones of the same program.
 *
 * Where a prefix and a suffix meet, their tags agree in 64 bits, which is proof enough even if the
 * graph lacks the call between them (usually a call through a pointer). Unless `strict`, such a
 * path is an answer, too, and the call is counted as unmodelled.
 */
#ifndef TAG_TAG_SEARCH_H
#define TAG_TAG_SEARCH_H

#include "callgraph/callgraph.h"

#define TAG_SEARCH_MEMORY (256u * 1024 * 1024)

struct tag_search;

struct tag_search_options {
	size_t memory_bytes;	    /* most bytes of the table of prefixes; 0: TAG_SEARCH_MEMORY */
	uint64_t (*now_ns)(void *); /* the clock; NULL: CLOCK_MONOTONIC */
	void *now_arg;		    /* argument of now_ns */
	uint32_t root;		    /* the node where all paths begin; CALLGRAPH_NONE: unknown */
	bool strict;		    /* allows no unmodelled calls */
	bool keep_nothing;	    /* learns nothing from answers */
};

enum tag_search_status {
	TAG_SEARCH_FOUND,
	TAG_SEARCH_NOT_IN_BUDGET, /* there may be paths that the search did not reach */
	TAG_SEARCH_NO_PATH,	  /* the graph has no such path */
};

struct tag_search_query {
	uint64_t tag;
	uint32_t leaf; /* the path's last node; CALLGRAPH_NONE: unknown */
	/* `leaf` is only probable: the path may end in another node, as the sample may have hit a
	 * callee without instrumentation, or a function's prologue before it added its id */
	bool leaf_is_hint;
	/* go on after the first answer, until the budget is used up or the graph has no more
	 * paths */
	bool all;
	uint64_t budget_ns; /* 0: nothing is searched */
};

struct tag_search_path {
	const uint32_t *nodes; /* root first */
	uint32_t n;
	uint32_t unmodelled; /* calls in the path that the graph lacks */
};

struct tag_search_answer {
	enum tag_search_status status;
	/* if no path was found: index of the anchor that the search reached; CALLGRAPH_NONE: none
	 */
	uint32_t anchor;
	const uint32_t *below; /* the nodes from that anchor down */
	uint32_t n_below;
	/* all paths that were found, fewest unmodelled calls first; they live until the next query
	 */
	struct tag_search_path *paths;
	size_t n;
	bool is_cut;	   /* more paths were found than are kept */
	uint64_t steps;	   /* edges that were tried */
	uint64_t spent_ns; /* time used of the budget */
};

/* Makes a search in a graph, which is borrowed. Returns 0, -ENOMEM, or -EINVAL: the graph is not
 * sealed, or lacks options->root. */
int tag_search_new(const struct callgraph *graph, const struct tag_search_options *options,
		   struct tag_search **ret_search);
void tag_search_free(struct tag_search *search);

/* Searches the paths of a tag. Returns 0, also if there is no path (see the answer's status);
 * -ENOMEM; -EINVAL: the graph lacks the query's leaf. */
int tag_search_run(struct tag_search *search, const struct tag_search_query *query,
		   struct tag_search_answer *ret_answer);

/* Spends time on the table of prefixes, before many tags are searched. It uses at most a quarter of
 * the table's memory. Returns 0 or -ENOMEM. */
int tag_search_prepare(struct tag_search *search, uint64_t budget_ns, uint64_t *ret_spent_ns);

/* Sets the anchors: tags at which a search ends when it reaches one on its way up, even if the path
 * of the anchor is unknown. The tags are borrowed until the next call; n = 0 removes all anchors.
 * Returns 0 or -ENOMEM. */
int tag_search_anchors(struct tag_search *search, const uint64_t *tags, uint32_t n);

/* Raises the likelihood of the calls from each of these nodes to the next, which were observed; the
 * path above the first node may be unknown. */
void tag_search_learn_calls(struct tag_search *search, const uint32_t *nodes, size_t n);

/* Learns a path that is known from elsewhere, such as one of a recording, so that searches find
 * similar paths sooner. Returns 0 or -ENOMEM. */
int tag_search_learn(struct tag_search *search, const uint32_t *nodes, size_t n);

/* Returns the call graph of tag_search_new(). */
const struct callgraph *tag_search_graph(const struct tag_search *search);

/* Returns whether only calls of the graph are followed. */
bool tag_search_is_strict(const struct tag_search *search);
uint64_t tag_search_prefixes(const struct tag_search *search); /* number of entries in the table */

/* Returns the tag of a path. */
uint64_t tag_search_tag(const struct callgraph *graph, const uint32_t *nodes, size_t n);

#endif
