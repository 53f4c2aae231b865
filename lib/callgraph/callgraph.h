/* SPDX-License-Identifier: MIT */
/*
 * The model that tags are decoded against: who can call whom.
 *
 * A node is what a tag's chain is made of: a function of an instrumented program, or a location of
 * a recording. Some things pass calls on without standing in the chain: functions that were left
 * out of the instrumentation, and sets such as "whatever has its address taken and this type".
 * They are transparent nodes: the search walks through them and their id never enters a tag.
 *
 * A graph is filled, then sealed; only a sealed one can be asked for edges. Sealing replaces chains
 * of transparent nodes, so that between two real nodes stands at most one:
 *
 *     f ──► g                 an edge
 *     f ──► (hub) ──► g, h    thousands of callers times thousands of targets, stored as their sum
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
	const char *name; /* as the model has it, mangled or not; lives as long as the graph */
	bool is_transparent;
	uint8_t unlikely; /* transparent: so many bits less likely than other callees */
	bool is_root;	  /* paths are known to begin here */
	bool is_entry;	  /* they can: its address is taken */
	bool is_public;	  /* they can, too: foreign code may call it */
	bool is_leaf;	  /* calls nothing: paths end here */
};

int callgraph_new(struct callgraph **ret_graph); /* 0 or -ENOMEM */
void callgraph_free(struct callgraph *graph);

/* The node with this id and name, entered if it is new; equal ids with different names are
 * different nodes. The name is copied. 0, -ENOMEM, -E2BIG (CALLGRAPH_MAX_NODES), -EBUSY if sealed.
 */
int callgraph_node(struct callgraph *graph, uint64_t id, const char *name, uint32_t *ret_node);

/* The same for a node that does not stand in tags. Its id is a key of its own kind. */
int callgraph_transparent(struct callgraph *graph, uint64_t id, const char *name,
			  uint32_t *ret_node);

void callgraph_set_root(struct callgraph *graph, uint32_t node);
void callgraph_set_entry(struct callgraph *graph, uint32_t node);
void callgraph_set_public(struct callgraph *graph, uint32_t node);
void callgraph_set_leaf(struct callgraph *graph, uint32_t node);
void callgraph_set_unlikely(struct callgraph *graph, uint32_t node, unsigned bits);

/* 0, -ENOMEM, -EINVAL (no such node), -E2BIG (CALLGRAPH_MAX_EDGES), -EBUSY if sealed. Repeated
 * edges count once. */
int callgraph_edge(struct callgraph *graph, uint32_t caller, uint32_t callee);

/* 0, -ENOMEM, or -E2BIG: chains of transparent nodes stand for more than CALLGRAPH_MAX_EDGES. */
int callgraph_seal(struct callgraph *graph);

bool callgraph_is_sealed(const struct callgraph *graph);
uint32_t callgraph_count(const struct callgraph *graph);	/* nodes */
uint32_t callgraph_count_real(const struct callgraph *graph);	/* that are not transparent */
uint64_t callgraph_edge_count(const struct callgraph *graph);	/* of the sealed graph */
uint64_t callgraph_memory_bytes(const struct callgraph *graph); /* allocated */

/* Lives until the next callgraph_node(). `node` must be below callgraph_count(). */
const struct callgraph_node *callgraph_at(const struct callgraph *graph, uint32_t node);

/* The first node that stands in tags with this id, or with this name; CALLGRAPH_NONE. By id it is
 * a probe, by name a scan over all nodes. */
uint32_t callgraph_find(const struct callgraph *graph, uint64_t id);
uint32_t callgraph_find_transparent(const struct callgraph *graph, uint64_t id);
uint32_t callgraph_find_name(const struct callgraph *graph, const char *name);

/* Nodes on the other side of a node's edges, ascending, and the number of the first of these edges:
 * edges are numbered in this order, node by node, separately for the two directions. */
const uint32_t *callgraph_callees(const struct callgraph *graph, uint32_t node, uint32_t *ret_count,
				  uint32_t *ret_first);
const uint32_t *callgraph_callers(const struct callgraph *graph, uint32_t node, uint32_t *ret_count,
				  uint32_t *ret_first);

/* Whether one real node can call another, directly or through a transparent one. */
bool callgraph_can_call(const struct callgraph *graph, uint32_t caller, uint32_t callee);

#endif
