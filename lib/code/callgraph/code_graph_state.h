/* SPDX-License-Identifier: MIT */
/*
 * The state of building a graph, which code_graph.c (nodes and sets) and code_graph_calls.c (the
 * targets of calls) share.
 */
#ifndef CALLGRAPH_CODE_GRAPH_STATE_H
#define CALLGRAPH_CODE_GRAPH_STATE_H

#include "base/strings.h"
#include "base/vec.h"
#include "callgraph/code_graph.h"
#include "callgraph/code_model_state.h"

#define CODE_GRAPH_TAILS 16 /* functions that a call reaches by tail calls */

/* A function of one of the files. */
struct code_ref {
	uint32_t file, function;
};

/* The targets of a function's tail calls: a range of the list of all. */
struct code_tails {
	uint32_t first;
	uint16_t n;
	bool foreign; /* one is in none of the files */
};

struct code_graph {
	const struct code_model *model; /* borrowed */
	struct callgraph *graph;	/* borrowed */
	struct strings *names;		/* of exports */
	VEC(struct code_ref) exports;	/* by name */
	uint32_t **nodes;  /* by file and function: its node, or the set of its sites */
	uint32_t **leaves; /* the set of its instructions; NULL in the graph of functions */
	struct code_tails **tails_of; /* by file and function */
	VEC(struct code_ref) tails;
	uint32_t pointer, pointer_leaves, foreign, public; /* sets */
	bool only_hooked;
};

/* Whether the graph has a file's functions. */
static inline bool code_graph_is_in(const struct code_graph *b, uint32_t file)
{
	return !b->only_hooked || b->model->files.items[file].scan.has_hooks;
}

/* Returns the function that a reference names. */
static inline const struct code_function *code_graph_function(const struct code_graph *b,
							      struct code_ref ref)
{
	return &b->model->files.items[ref.file].scan.functions[ref.function];
}

/* Returns the number of the call after a function's last one. */
static inline uint32_t code_graph_calls_end(const struct code_scan *scan, uint32_t function)
{
	return function + 1 < scan->n_functions ? scan->functions[function + 1].first_call
						: (uint32_t)scan->n_calls;
}

/* Reads the exports of all files. The first file that exports a name defines it. Returns 0 or
 * -ENOMEM. */
int code_graph_calls_read_exports(struct code_graph *b);

/* Reads the tail calls of a function. Returns 0 or -ENOMEM. */
int code_graph_calls_read_tails(struct code_graph *b, uint32_t file, uint32_t function);

/* Finds the function that a call of a file reaches. false: it is in none of the files. */
bool code_graph_calls_target(struct code_graph *b, uint32_t file, const struct code_call *call,
			     struct code_ref *ret_to);

/* Add edges from a node to the targets of a call, or to a function, and to what that tail-calls.
 * Errors as callgraph_edge(). */
int code_graph_calls_add(struct code_graph *b, uint32_t from, uint32_t file,
			 const struct code_call *call);
int code_graph_calls_add_to(struct code_graph *b, uint32_t from, struct code_ref to);

/* The same, with the edges to sets of leaves from another node. */
int code_graph_calls_add_as(struct code_graph *b, uint32_t from, uint32_t from_leaves,
			    struct code_ref to);

#endif
