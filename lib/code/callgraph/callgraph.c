/* SPDX-License-Identifier: MIT */
/*
 * Fills, seals and searches the call graph; see callgraph.h.
 *
 * While the graph is filled, its edges are a list. Sealing converts the list into two sorted
 * adjacency arrays, one for each direction (compressed rows: a row of node numbers for each node,
 * all rows in one array), by two passes of counting sort: by the far end, then by the near end.
 * This makes every row ascending, with equal edges adjacent.
 *
 * Chains of transparent nodes are collapsed before that: a transparent node gets an edge to every
 * real node that it reaches through others. The walk marks visited nodes, so cycles end it.
 */
#include "callgraph/callgraph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "base/hash_index.h"

struct callgraph_pair {
	uint32_t caller, callee;
};

struct callgraph_side {
	uint32_t *first; /* by node, one more than there are nodes */
	uint32_t *other;
};

struct callgraph {
	VEC(struct callgraph_node) nodes;
	VEC(struct callgraph_pair) pairs; /* empty once sealed */
	struct hash_index index;	  /* node numbers by callgraph_key() */
	char **names;			  /* owned; blocks of memory with the names */
	size_t n_names, cap_names;
	size_t block_used, block_size; /* used bytes and size of the last block */
	uint32_t n_real;
	bool is_sealed;
	struct callgraph_side callees, callers;
};

#define CALLGRAPH_BLOCK (64 * 1024)

static uint64_t callgraph_key(uint64_t id, bool is_transparent)
{
	return hash_mix64(id + (is_transparent ? UINT64_C(0x9e3779b97f4a7c15) : 0));
}

int callgraph_new(struct callgraph **ret_graph)
{
	struct callgraph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return -ENOMEM;
	if (hash_index_grow(&graph->index, &graph->index) < 0) {
		free(graph);
		return -ENOMEM;
	}
	*ret_graph = graph;
	return 0;
}

void callgraph_free(struct callgraph *graph)
{
	if (!graph)
		return;
	for (size_t i = 0; i < graph->n_names; i++)
		free(graph->names[i]);
	free(graph->names);
	free(graph->nodes.items);
	free(graph->pairs.items);
	free(graph->index.slot);
	free(graph->callees.first);
	free(graph->callees.other);
	free(graph->callers.first);
	free(graph->callers.other);
	free(graph);
}

/* --- filling ------------------------------------------------------------------------------- */

static const char *keep_name(struct callgraph *graph, const char *name)
{
	size_t len = strlen(name) + 1;
	char *at;

	if (!graph->n_names || len > graph->block_size - graph->block_used) {
		size_t size = len > CALLGRAPH_BLOCK ? len : CALLGRAPH_BLOCK;

		if (vec_reserve((void **)&graph->names, &graph->cap_names, graph->n_names + 1,
				sizeof(*graph->names)) < 0)
			return NULL;
		graph->names[graph->n_names] = malloc(size);
		if (!graph->names[graph->n_names])
			return NULL;
		graph->n_names++;
		graph->block_used = 0;
		graph->block_size = size;
	}
	at = graph->names[graph->n_names - 1] + graph->block_used;
	graph->block_used += len;
	return memcpy(at, name, len);
}

static int grow_index(struct callgraph *graph)
{
	struct hash_index grown;
	int err = hash_index_grow(&graph->index, &grown);

	if (err < 0)
		return err;
	for (uint32_t i = 0; i < graph->nodes.count; i++)
		hash_index_put(&grown,
			       callgraph_key(graph->nodes.items[i].id,
					     graph->nodes.items[i].is_transparent),
			       i);
	free(graph->index.slot);
	graph->index = grown;
	return 0;
}

static int callgraph_add(struct callgraph *graph, const struct callgraph_node *node,
			 uint32_t *ret_node)
{
	struct callgraph_node added = *node;
	uint32_t number = (uint32_t)graph->nodes.count;
	int err;

	if (graph->is_sealed)
		return -EBUSY;
	if (number >= CALLGRAPH_MAX_NODES)
		return -E2BIG;
	err = VEC_RESERVE(&graph->nodes, 1);
	if (err == 0 && hash_index_full(&graph->index))
		err = grow_index(graph);
	if (err < 0)
		return err;
	added.name = keep_name(graph, node->name);
	if (!added.name)
		return -ENOMEM;
	graph->nodes.items[graph->nodes.count++] = added;
	hash_index_put(&graph->index, callgraph_key(node->id, node->is_transparent), number);
	graph->n_real += !node->is_transparent;
	*ret_node = number;
	return 0;
}

/* Returns the first node with this id, of this kind and, unless `name` is NULL, with this name. */
static uint32_t probe(const struct callgraph *graph, uint64_t id, bool is_transparent,
		      const char *name)
{
	const struct hash_index *index = &graph->index;
	size_t at = callgraph_key(id, is_transparent) & index->mask;

	for (; index->slot[at]; at = (at + 1) & index->mask) {
		const struct callgraph_node *n = &graph->nodes.items[index->slot[at] - 1];

		if (n->id == id && n->is_transparent == is_transparent &&
		    (!name || strcmp(n->name, name) == 0))
			return index->slot[at] - 1;
	}
	return CALLGRAPH_NONE;
}

static int enter(struct callgraph *graph, uint64_t id, const char *name, bool is_transparent,
		 uint32_t *ret_node)
{
	uint32_t found = probe(graph, id, is_transparent, name);
	struct callgraph_node node = {.id = id, .name = name, .is_transparent = is_transparent};

	if (found == CALLGRAPH_NONE)
		return callgraph_add(graph, &node, ret_node);
	*ret_node = found;
	return 0;
}

int callgraph_node(struct callgraph *graph, uint64_t id, const char *name, uint32_t *ret_node)
{
	return enter(graph, id, name, false, ret_node);
}

int callgraph_transparent(struct callgraph *graph, uint64_t id, const char *name,
			  uint32_t *ret_node)
{
	return enter(graph, id, name, true, ret_node);
}

void callgraph_set_root(struct callgraph *graph, uint32_t node)
{
	graph->nodes.items[node].is_root = true;
}

void callgraph_set_entry(struct callgraph *graph, uint32_t node)
{
	graph->nodes.items[node].is_entry = true;
}

void callgraph_set_public(struct callgraph *graph, uint32_t node)
{
	graph->nodes.items[node].is_public = true;
}

void callgraph_set_leaf(struct callgraph *graph, uint32_t node)
{
	graph->nodes.items[node].is_leaf = true;
}

void callgraph_set_unlikely(struct callgraph *graph, uint32_t node, unsigned bits)
{
	graph->nodes.items[node].unlikely = (uint8_t)bits;
}

int callgraph_edge(struct callgraph *graph, uint32_t caller, uint32_t callee)
{
	int err;

	if (graph->is_sealed)
		return -EBUSY;
	if (caller >= graph->nodes.count || callee >= graph->nodes.count)
		return -EINVAL;
	if (graph->pairs.count >= CALLGRAPH_MAX_EDGES)
		return -E2BIG;
	err = VEC_RESERVE(&graph->pairs, 1);
	if (err < 0)
		return err;
	graph->pairs.items[graph->pairs.count++] = (struct callgraph_pair){caller, callee};
	return 0;
}

/* --- sealing ------------------------------------------------------------------------------- */

static bool row_has(const uint32_t *row, uint32_t count, uint32_t node)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (row[middle] < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && row[low] == node;
}

static uint32_t callgraph_end(const struct callgraph_pair *pair, bool by_caller)
{
	return by_caller ? pair->caller : pair->callee;
}

/* Sorts the edges by one of their nodes, in a stable pass of counting sort. */
static int sort(struct callgraph *graph, bool by_caller)
{
	size_t n = graph->pairs.count;
	uint32_t *at = calloc(graph->nodes.count + 1, sizeof(*at));
	struct callgraph_pair *sorted = vec_alloc(n + 1, sizeof(*sorted));

	if (!at || !sorted) {
		free(at);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		at[callgraph_end(&graph->pairs.items[i], by_caller) + 1]++;
	for (size_t i = 0; i < graph->nodes.count; i++)
		at[i + 1] += at[i];
	for (size_t i = 0; i < n; i++)
		sorted[at[callgraph_end(&graph->pairs.items[i], by_caller)]++] =
			graph->pairs.items[i];
	free(at);
	free(graph->pairs.items);
	graph->pairs.items = sorted;
	graph->pairs.cap = n + 1;
	return 0;
}

static void unique(struct callgraph *graph)
{
	struct callgraph_pair *p = graph->pairs.items;
	size_t kept = 0;

	for (size_t i = 0; i < graph->pairs.count; i++)
		if (!kept || p[i].caller != p[kept - 1].caller || p[i].callee != p[kept - 1].callee)
			p[kept++] = p[i];
	graph->pairs.count = kept;
}

/* Makes the rows of one direction from pairs that are sorted by the row's node. */
static int callgraph_rows(const struct callgraph *graph, bool by_caller,
			  struct callgraph_side *ret_side)
{
	size_t n = graph->pairs.count;
	uint32_t *first = calloc(graph->nodes.count + 2, sizeof(*first));
	uint32_t *other = calloc(n + 1, sizeof(*other));

	if (!first || !other) {
		free(first);
		free(other);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		first[callgraph_end(&graph->pairs.items[i], by_caller) + 1]++;
		other[i] = callgraph_end(&graph->pairs.items[i], !by_caller);
	}
	for (size_t i = 0; i < graph->nodes.count; i++)
		first[i + 1] += first[i];
	free(ret_side->first);
	free(ret_side->other);
	*ret_side = (struct callgraph_side){first, other};
	return 0;
}

static int sort_both(struct callgraph *graph)
{
	int err = sort(graph, false);

	if (err == 0)
		err = sort(graph, true);
	if (err < 0)
		return err;
	unique(graph);
	return callgraph_rows(graph, true, &graph->callees);
}

struct callgraph_walk {
	VEC(uint32_t) queue; /* transparent nodes reached from the start */
	uint32_t *seen;	     /* by node: the start from which it was last reached, plus 1 */
	VEC(struct callgraph_pair) added;
	size_t steps; /* number of visited edges; limited, since it grows with the square of a
		       * chain's length */
};

static int walk_row(const struct callgraph *graph, struct callgraph_walk *walk, uint32_t start,
		    uint32_t node)
{
	uint32_t count, first;
	const uint32_t *callees = callgraph_callees(graph, node, &count, &first);

	walk->steps += count;
	if (walk->steps > CALLGRAPH_MAX_EDGES)
		return -E2BIG;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t to = callees[i];

		if (walk->seen[to] == start + 1)
			continue;
		walk->seen[to] = start + 1;
		if (graph->nodes.items[to].is_transparent) {
			if (VEC_RESERVE(&walk->queue, 1) < 0)
				return -ENOMEM;
			walk->queue.items[walk->queue.count++] = to;
		} else if (node != start) {
			if (walk->added.count >= CALLGRAPH_MAX_EDGES)
				return -E2BIG;
			if (VEC_RESERVE(&walk->added, 1) < 0)
				return -ENOMEM;
			walk->added.items[walk->added.count++] = (struct callgraph_pair){start, to};
		}
	}
	return 0;
}

/* Adds edges from `start` to the real nodes that it reaches through transparent nodes. Returns 0 or
 * an error of callgraph_seal(). */
static int walk_from(const struct callgraph *graph, struct callgraph_walk *walk, uint32_t start)
{
	int err;

	walk->queue.count = 0;
	walk->seen[start] = start + 1;
	err = walk_row(graph, walk, start, start);
	for (size_t i = 0; err == 0 && i < walk->queue.count; i++)
		err = walk_row(graph, walk, start, walk->queue.items[i]);
	return err;
}

/* Adds an edge from a node to itself if it can call itself through a transparent node, so that
 * recursion through pointers and virtual calls takes the search as little time as direct
 * recursion. */
static int self_edges(struct callgraph *graph)
{
	uint32_t n = (uint32_t)graph->nodes.count, count, first, n_back;
	int err = 0;

	for (uint32_t hub = 0; err == 0 && hub < n; hub++) {
		const uint32_t *callees = callgraph_callees(graph, hub, &count, &first);

		if (!graph->nodes.items[hub].is_transparent || graph->nodes.items[hub].unlikely)
			continue;
		for (uint32_t i = 0; err == 0 && i < count; i++) {
			const uint32_t *back =
				callgraph_callees(graph, callees[i], &n_back, &first);

			if (row_has(back, n_back, hub))
				err = callgraph_edge(graph, callees[i], callees[i]);
		}
	}
	return err < 0 ? err : sort_both(graph);
}

/* Replaces the edges between transparent nodes by the edges that the walk has added. */
static int replace(struct callgraph *graph, const struct callgraph_walk *walk)
{
	struct callgraph_pair *p = graph->pairs.items;
	size_t kept = 0;
	int err;

	for (size_t i = 0; i < graph->pairs.count; i++)
		if (!graph->nodes.items[p[i].caller].is_transparent ||
		    !graph->nodes.items[p[i].callee].is_transparent)
			p[kept++] = p[i];
	graph->pairs.count = kept;
	if (kept + walk->added.count > CALLGRAPH_MAX_EDGES)
		return -E2BIG;
	err = VEC_RESERVE(&graph->pairs, walk->added.count + 1);
	if (err < 0)
		return err;
	if (walk->added.count)
		memcpy(graph->pairs.items + kept, walk->added.items,
		       walk->added.count * sizeof(*graph->pairs.items));
	graph->pairs.count += walk->added.count;
	return sort_both(graph);
}

static int flatten(struct callgraph *graph)
{
	struct callgraph_walk walk = {0};
	int err = 0;

	walk.seen = calloc(graph->nodes.count + 1, sizeof(*walk.seen));
	if (!walk.seen)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < graph->nodes.count; i++)
		if (graph->nodes.items[i].is_transparent)
			err = walk_from(graph, &walk, i);
	if (err == 0)
		err = replace(graph, &walk);
	if (err == 0)
		err = self_edges(graph);
	free(walk.seen);
	free(walk.queue.items);
	free(walk.added.items);
	return err;
}

int callgraph_seal(struct callgraph *graph)
{
	int err;

	if (graph->is_sealed)
		return 0;
	err = sort_both(graph);
	if (err == 0 && graph->n_real != graph->nodes.count)
		err = flatten(graph);
	if (err == 0)
		err = sort(graph, false);
	if (err == 0)
		err = callgraph_rows(graph, false, &graph->callers);
	if (err < 0)
		return err;
	free(graph->pairs.items);
	graph->pairs.items = NULL;
	graph->pairs.count = graph->pairs.cap = 0;
	graph->is_sealed = true;
	return 0;
}

/* --- queries ------------------------------------------------------------------------------- */

bool callgraph_is_sealed(const struct callgraph *graph)
{
	return graph->is_sealed;
}

uint32_t callgraph_count(const struct callgraph *graph)
{
	return (uint32_t)graph->nodes.count;
}

uint32_t callgraph_count_real(const struct callgraph *graph)
{
	return graph->n_real;
}

uint64_t callgraph_edge_count(const struct callgraph *graph)
{
	return graph->is_sealed ? graph->callees.first[graph->nodes.count] : graph->pairs.count;
}

const struct callgraph_node *callgraph_at(const struct callgraph *graph, uint32_t node)
{
	return &graph->nodes.items[node];
}

uint32_t callgraph_find(const struct callgraph *graph, uint64_t id)
{
	return probe(graph, id, false, NULL);
}

uint32_t callgraph_find_transparent(const struct callgraph *graph, uint64_t id)
{
	return probe(graph, id, true, NULL);
}

uint32_t callgraph_find_name(const struct callgraph *graph, const char *name)
{
	for (uint32_t i = 0; i < graph->nodes.count; i++)
		if (!graph->nodes.items[i].is_transparent &&
		    strcmp(graph->nodes.items[i].name, name) == 0)
			return i;
	return CALLGRAPH_NONE;
}

static const uint32_t *callgraph_row(const struct callgraph_side *side, uint32_t node,
				     uint32_t *ret_count, uint32_t *ret_first)
{
	*ret_first = side->first[node];
	*ret_count = side->first[node + 1] - side->first[node];
	return side->other + side->first[node];
}

const uint32_t *callgraph_callees(const struct callgraph *graph, uint32_t node, uint32_t *ret_count,
				  uint32_t *ret_first)
{
	return callgraph_row(&graph->callees, node, ret_count, ret_first);
}

const uint32_t *callgraph_callers(const struct callgraph *graph, uint32_t node, uint32_t *ret_count,
				  uint32_t *ret_first)
{
	return callgraph_row(&graph->callers, node, ret_count, ret_first);
}

bool callgraph_can_call(const struct callgraph *graph, uint32_t caller, uint32_t callee)
{
	uint32_t count, first, n;
	const uint32_t *callees = callgraph_callees(graph, caller, &count, &first);

	if (row_has(callees, count, callee))
		return true;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t *row;

		if (!graph->nodes.items[callees[i]].is_transparent)
			continue;
		row = callgraph_callees(graph, callees[i], &n, &first);
		if (row_has(row, n, callee))
			return true;
	}
	return false;
}
