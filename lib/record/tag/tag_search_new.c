/* SPDX-License-Identifier: MIT */
/* Making a search: where paths can begin; see tag_search.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tag/tag_search_state.h"

static uint64_t tag_search_clock(void *arg)
{
	(void)arg;
	return clock_ns(CLOCK_MONOTONIC);
}

bool tag_search_is_entry(const struct callgraph *graph, uint32_t node)
{
	const struct callgraph_node *n = callgraph_at(graph, node);
	uint32_t count, first;

	if (n->is_transparent)
		return false;
	callgraph_callers(graph, node, &count, &first);
	return n->is_root || n->is_entry || count == 0;
}

/* Without a known root: functions that the model marks as roots, then its possible
 * roots, or functions without callers. */
static int guess_roots(struct tag_search *s)
{
	uint32_t n = callgraph_count(s->graph), marked = 0, others = 0;
	int err = 0;

	for (uint32_t i = 0; i < n; i++) {
		marked += callgraph_at(s->graph, i)->is_root;
		others += tag_search_is_entry(s->graph, i) && !callgraph_at(s->graph, i)->is_root;
	}
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		if (callgraph_at(s->graph, i)->is_root)
			err = tag_prefixes_root(&s->prefixes, i, edge_costs_of_choice(marked));
		else if (tag_search_is_entry(s->graph, i))
			err = tag_prefixes_root(&s->prefixes, i,
						edge_costs_of_choice(others) + TAG_SEARCH_ODD);
	}
	return err;
}

static int tables(struct tag_search *s)
{
	uint32_t n = callgraph_count(s->graph);
	int err;

	s->nodes = calloc((size_t)n + 1, sizeof(*s->nodes));
	if (!s->nodes)
		return -ENOMEM;
	err = edge_costs_init(&s->costs, s->graph);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		s->nodes[i].id = callgraph_at(s->graph, i)->id;
		s->nodes[i].is_transparent = callgraph_at(s->graph, i)->is_transparent;
		s->nodes[i].least = s->costs.min_up[i];
	}
	err = tag_prefixes_init(&s->prefixes, &s->costs, s->options.memory_bytes);
	if (err < 0)
		return err;
	return s->options.root == CALLGRAPH_NONE
		       ? guess_roots(s)
		       : tag_prefixes_root(&s->prefixes, s->options.root, 0);
}

int tag_search_new(const struct callgraph *graph, const struct tag_search_options *options,
		   struct tag_search **ret_search)
{
	struct tag_search *s;
	int err;

	if (!callgraph_is_sealed(graph) ||
	    (options->root != CALLGRAPH_NONE && options->root >= callgraph_count(graph)))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->graph = graph;
	s->anchor = CALLGRAPH_NONE;
	s->options = *options;
	if (!s->options.memory_bytes)
		s->options.memory_bytes = TAG_SEARCH_MEMORY;
	if (!s->options.now_ns)
		s->options.now_ns = tag_search_clock;
	err = tables(s);
	if (err < 0) {
		tag_search_free(s);
		return err;
	}
	*ret_search = s;
	return 0;
}

void tag_search_forget(struct tag_search *s)
{
	for (size_t i = 0; i < s->n_paths; i++)
		free((void *)s->paths[i].nodes);
	s->n_paths = 0;
	free(s->below);
	s->below = NULL;
	s->anchor = CALLGRAPH_NONE;
}

void tag_search_free(struct tag_search *s)
{
	if (!s)
		return;
	tag_search_forget(s);
	tag_prefixes_release(&s->prefixes);
	edge_costs_release(&s->costs);
	free(s->stack.items);
	free(s->path.items);
	free(s->nodes);
	tag_anchors_release(&s->anchors);
	free(s);
}
