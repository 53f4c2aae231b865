/* SPDX-License-Identifier: MIT */
/*
 * The call graph against which tags are decoded.
 *
 * A real node is a link of a tag's chain: a function of an instrumented program, or a location of a
 * recording. A transparent node passes calls on without being a link: a function without
 * instrumentation, or a set such as "all functions of this type whose address is taken". The
 * search walks through it, and its id never enters a tag.
 *
 * A graph is filled, then sealed; edges can be queried only after that. Sealing collapses chains of
 * transparent nodes, so that at most one is between two real nodes:
 *
 *     f ──► g                 an edge
 *     f ──► (hub) ──► g, h    the hub, a transparent node, makes thousands of callers times
 *                             thousands of targets take only their sum of edges
 */
#ifndef CALLGRAPH_CALLGRAPH_H
#define CALLGRAPH_CALLGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALLGRAPH_NONE	    UINT32_MAX
#define CALLGRAPH_MAX_NODES (1u << 24)
#define CALLGRAPH_MAX_EDGES (1u << 27)

struct callgraph;

struct callgraph_node {
	uint64_t id;
	const char *name; /* as in the model, mangled or not; lives as long as the graph */
	bool is_transparent;
	uint8_t unlikely; /* a transparent node: a call through it is 2^unlikely times less
			   * likely */
	bool is_root;	  /* paths are known to begin here */
	bool is_entry;	  /* paths can begin here: its address is taken */
	bool is_public;	  /* paths can begin here: foreign code may call it */
	bool is_leaf;	  /* calls nothing, so paths end here */
};

/* Makes an empty graph. Returns 0 or -ENOMEM. */
int callgraph_new(struct callgraph **ret_graph);
void callgraph_free(struct callgraph *graph); /* accepts NULL */

/* Finds the real node with this id and name, or adds it. Equal ids with different names are
 * different nodes. Copies the name. Returns 0; -ENOMEM; -E2BIG: CALLGRAPH_MAX_NODES; -EBUSY: the
 * node is new and the graph sealed. */
int callgraph_node(struct callgraph *graph, uint64_t id, const char *name, uint32_t *ret_node);

/* Like callgraph_node(), for a transparent node; the ids of transparent nodes are separate from
 * those of real ones. */
int callgraph_transparent(struct callgraph *graph, uint64_t id, const char *name,
			  uint32_t *ret_node);

/* Set an attribute of a node; see struct callgraph_node. */
void callgraph_set_root(struct callgraph *graph, uint32_t node);
void callgraph_set_entry(struct callgraph *graph, uint32_t node);
void callgraph_set_public(struct callgraph *graph, uint32_t node);
void callgraph_set_leaf(struct callgraph *graph, uint32_t node);
void callgraph_set_unlikely(struct callgraph *graph, uint32_t node, unsigned bits);

/* Adds an edge; repeated edges count once. Returns 0; -ENOMEM; -EINVAL: no such node; -E2BIG:
 * CALLGRAPH_MAX_EDGES; -EBUSY: the graph is sealed. */
int callgraph_edge(struct callgraph *graph, uint32_t caller, uint32_t callee);

/* Seals the graph. Returns 0; -ENOMEM; -E2BIG: the transparent nodes collapse to more than
 * CALLGRAPH_MAX_EDGES. After an error the graph can only be freed. */
int callgraph_seal(struct callgraph *graph);

/* Return whether the graph is sealed; the number of all nodes; that of the real nodes; and that of
 * the edges, among which repeated edges count until the graph is sealed. */
bool callgraph_is_sealed(const struct callgraph *graph);
uint32_t callgraph_count(const struct callgraph *graph);
uint32_t callgraph_count_real(const struct callgraph *graph);
uint64_t callgraph_edge_count(const struct callgraph *graph);

/* Returns a node, valid until a node is added. `node` must be below callgraph_count(). */
const struct callgraph_node *callgraph_at(const struct callgraph *graph, uint32_t node);

/* Return the first real node with this id, the first transparent node with this id, or the first
 * real node with this name; CALLGRAPH_NONE: there is none. Ids are looked up in a hash table; for a
 * name, all nodes are compared. */
uint32_t callgraph_find(const struct callgraph *graph, uint64_t id);
uint32_t callgraph_find_transparent(const struct callgraph *graph, uint64_t id);
uint32_t callgraph_find_name(const struct callgraph *graph, const char *name);

/* Return the nodes that a node calls, or the nodes that call it, in ascending order. *ret_count is
 * their number, and *ret_first the number of the first of these edges: edges are numbered in this
 * order, node by node, separately for the two directions. The graph must be sealed; the array lives
 * as long as the graph. */
const uint32_t *callgraph_callees(const struct callgraph *graph, uint32_t node, uint32_t *ret_count,
				  uint32_t *ret_first);
const uint32_t *callgraph_callers(const struct callgraph *graph, uint32_t node, uint32_t *ret_count,
				  uint32_t *ret_first);

/* Returns whether one real node can call another, directly or through a transparent one. The graph
 * must be sealed. */
bool callgraph_can_call(const struct callgraph *graph, uint32_t caller, uint32_t callee);

#endif
