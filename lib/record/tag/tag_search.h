/* SPDX-License-Identifier: MIT */
/*
 * Finds the call paths that have a tag, from a call graph alone.
 *
 * Besnard et al. (2019, section 3) enumerate all paths from the root and compare tags. A step of
 * the chain can be undone, so the search here goes from both ends and meets in the middle: a table
 * of prefixes from the roots (tag/tag_prefixes.h), and a walk backwards from the tag, which removes
 * one possible leaf after another and looks the rest up in the table. That squares the number of
 * paths covered by a given amount of work. Both halves go from likely to unlikely
 * (tag/edge_costs.h).
 *
 * A search keeps what it learns: decoded paths speed up later ones of the same program.
 *
 * A prefix and a suffix that meet agree in 64 bits, even if the graph lacks the call between them
 * (usually a call through a pointer). Such a path is an answer too, with the call counted as
 * unmodelled, unless `strict`.
 */
#ifndef TAG_TAG_SEARCH_H
#define TAG_TAG_SEARCH_H

#include "callgraph/callgraph.h"

#define TAG_SEARCH_MEMORY (256u * 1024 * 1024)

struct tag_search;

struct tag_search_options {
	size_t memory_bytes;	    /* of the table of prefixes; 0: TAG_SEARCH_MEMORY */
	uint64_t (*now_ns)(void *); /* NULL: CLOCK_MONOTONIC */
	void *now_arg;		    /* passed to it */
	uint32_t root;		    /* where all paths begin; CALLGRAPH_NONE: not known */
	bool strict;		    /* no unmodelled calls */
	bool keep_nothing;	    /* learn nothing from answers */
};

enum tag_search_status {
	TAG_SEARCH_FOUND,
	TAG_SEARCH_NOT_IN_BUDGET, /* there may be paths that the search did not reach */
	TAG_SEARCH_NO_PATH,	  /* there is none in the graph */
};

struct tag_search_query {
	uint64_t tag;
	uint32_t leaf;	   /* the path's last node; CALLGRAPH_NONE: not known */
	bool leaf_is_hint; /* it may be another: an uninstrumented callee, an unfinished prologue */
	bool all;	   /* continue after the first answer, until the budget or the graph ends */
	uint64_t budget_ns; /* 0: nothing is tried */
};

struct tag_search_path {
	const uint32_t *nodes; /* root first */
	uint32_t n;
	uint32_t unmodelled; /* calls in it that the graph does not have */
};

struct tag_search_answer {
	enum tag_search_status status;
	uint32_t anchor;       /* if no path was found: the number of an anchor above it, and */
	const uint32_t *below; /* the nodes from there down; CALLGRAPH_NONE: there is none */
	uint32_t n_below;
	struct tag_search_path *paths; /* all that were found, fewest unmodelled calls first; live
					* until the next query */
	size_t n;
	bool is_cut;	   /* there were more than are kept */
	uint64_t steps;	   /* edges looked at */
	uint64_t spent_ns; /* of the budget */
};

/* The graph must be sealed; it is borrowed. 0, -ENOMEM, -EINVAL (not sealed, no such root). */
int tag_search_new(const struct callgraph *graph, const struct tag_search_options *options,
		   struct tag_search **ret_search);
void tag_search_free(struct tag_search *search);

/* 0, whatever the status; -ENOMEM; -EINVAL (no such leaf). */
int tag_search_run(struct tag_search *search, const struct tag_search_query *query,
		   struct tag_search_answer *ret_answer);

/* Spends time on the table of prefixes, before many tags are searched: a quarter of its memory at
 * most. 0 or -ENOMEM. */
int tag_search_prepare(struct tag_search *search, uint64_t budget_ns, uint64_t *ret_spent_ns);

/* Sets tags at which a search ends when it reaches one on its way up. Their paths need not be
 * known. Borrowed until the next call; n 0: none. 0 or -ENOMEM. */
int tag_search_anchors(struct tag_search *search, const uint64_t *tags, uint32_t n);

/* Learns calls that were observed, not necessarily in a known path. */
void tag_search_learn_calls(struct tag_search *search, const uint32_t *nodes, size_t n);

/* Learns a path without a search: the edges and paths of a recording, say. 0 or -ENOMEM. */
int tag_search_learn(struct tag_search *search, const uint32_t *nodes, size_t n);

/* Returns the call graph that was given. */
const struct callgraph *tag_search_graph(const struct tag_search *search);

/* Returns whether only calls of the graph are followed. */
bool tag_search_is_strict(const struct tag_search *search);
uint64_t tag_search_prefixes(const struct tag_search *search); /* in the table */

/* Returns the tag of a path. */
uint64_t tag_search_tag(const struct callgraph *graph, const uint32_t *nodes, size_t n);

#endif
