/* SPDX-License-Identifier: MIT */
/*
 * From sections to a call graph; see tag_model.h.
 *
 * Everything is found through ids: a function's node by its id, a transparent node by a key made of
 * what it stands for. First all functions get their nodes, then come taken addresses (which fill
 * the sets) and calls, in any order.
 */
#include "callgraph/plugin_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

struct plugin_model {
	VEC(struct plugin_sections) files; /* copies */
	size_t n_functions;
};

/* What a transparent node stands for; its key is made of this and a number. */
enum tag_set {
	TAG_SET_LEFT_OUT, /* a function, by id */
	TAG_SET_TAIL,	  /* what a function tail-calls, by id */
	TAG_SET_SHAPE,	  /* functions whose address is taken, by shape */
	TAG_SET_VIRTUAL,  /* those of them that are virtual */
	TAG_SET_UNKNOWN,  /* functions whose address is taken and whose shape is not known */
	TAG_SET_TAKEN,	  /* all whose address is taken */
	TAG_SET_FOREIGN,  /* called back by foreign code: those */
	TAG_SET_PUBLIC,	  /* ... and those that other files may call */
};

static const char *const tag_set_names[] = {
	[TAG_SET_LEFT_OUT] = "[left out]",    [TAG_SET_TAIL] = "[tail calls]",
	[TAG_SET_SHAPE] = "[pointer]",	      [TAG_SET_VIRTUAL] = "[virtual]",
	[TAG_SET_UNKNOWN] = "[unprototyped]", [TAG_SET_TAKEN] = "[any pointer]",
	[TAG_SET_FOREIGN] = "[callback]",     [TAG_SET_PUBLIC] = "[public]",
};

/* How many bits less likely than a call that stands in the code. */
#define PLUGIN_MODEL_FOREIGN_BITS 3
#define PLUGIN_MODEL_PUBLIC_BITS  8

enum tag_fact { TAG_FACT_TAILS = 1, TAG_FACT_TAKEN = 2 };

struct tag_build {
	const struct plugin_model *model;
	struct callgraph *graph;
	uint8_t *facts; /* by node of a function: enum tag_fact */
	size_t n_known; /* nodes that functions have; those of sets come after them */
	uint32_t shapeless, any, foreign, public;
};

int plugin_model_new(struct plugin_model **ret_model)
{
	struct plugin_model *model = calloc(1, sizeof(*model));

	if (!model)
		return -ENOMEM;
	*ret_model = model;
	return 0;
}

void plugin_model_free(struct plugin_model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->files.count; i++)
		plugin_sections_release(&model->files.items[i]);
	free(model->files.items);
	free(model);
}

size_t plugin_model_functions(const struct plugin_model *model)
{
	return model->n_functions;
}

int plugin_model_take(struct plugin_model *model, struct plugin_sections *sections)
{
	if (VEC_RESERVE(&model->files, 1) < 0)
		return -ENOMEM;
	model->files.items[model->files.count++] = *sections;
	model->n_functions += sections->n_functions;
	*sections = (struct plugin_sections){0};
	return 0;
}

/* --- nodes --------------------------------------------------------------------------------- */

static int tag_set_node(struct tag_build *b, enum tag_set set, uint64_t number, uint32_t *ret_node)
{
	return callgraph_transparent(b->graph, hash_mix64(number + set) + set, tag_set_names[set],
				     ret_node);
}

static int function_node(struct tag_build *b, const struct plugin_function *f)
{
	uint32_t node;
	int r;

	if (f->flags & PLUGIN_FUNCTION_LEFT_OUT)
		return tag_set_node(b, TAG_SET_LEFT_OUT, f->id, &node);
	r = callgraph_node(b->graph, f->id, f->name, &node);
	if (r < 0)
		return r;
	if (f->flags & PLUGIN_FUNCTION_ROOT || strcmp(f->name, "main") == 0)
		callgraph_set_root(b->graph, node);
	if (f->flags & PLUGIN_FUNCTION_PUBLIC) {
		callgraph_set_public(b->graph, node);
		r = callgraph_edge(b->graph, b->public, node);
	}
	return r;
}

static int tag_set_new(struct tag_build *b, enum tag_set set, unsigned bits, uint32_t *ret_node)
{
	int r = tag_set_node(b, set, 0, ret_node);

	if (r == 0)
		callgraph_set_unlikely(b->graph, *ret_node, bits);
	return r;
}

static int tag_build_nodes(struct tag_build *b)
{
	int r = tag_set_new(b, TAG_SET_UNKNOWN, 0, &b->shapeless);

	if (r == 0)
		r = tag_set_new(b, TAG_SET_TAKEN, 0, &b->any);
	if (r == 0)
		r = tag_set_new(b, TAG_SET_FOREIGN, PLUGIN_MODEL_FOREIGN_BITS, &b->foreign);
	if (r == 0)
		r = tag_set_new(b, TAG_SET_PUBLIC, PLUGIN_MODEL_PUBLIC_BITS, &b->public);
	for (size_t i = 0; r == 0 && i < b->model->files.count; i++) {
		const struct plugin_sections *s = &b->model->files.items[i];

		for (size_t k = 0; r == 0 && k < s->n_functions; k++)
			r = function_node(b, &s->functions[k]);
	}
	return r;
}

/* The node of a function, real or left out; CALLGRAPH_NONE: its code is not instrumented. */
static uint32_t tag_build_find(const struct tag_build *b, uint64_t id)
{
	uint32_t node = callgraph_find(b->graph, id);

	if (node == CALLGRAPH_NONE)
		node = callgraph_find_transparent(b->graph, hash_mix64(id + TAG_SET_LEFT_OUT) +
								    TAG_SET_LEFT_OUT);
	return node;
}

/* --- edges --------------------------------------------------------------------------------- */

/* `from` calls a function, so it seems to call what that tail-calls. A root begins a chain of its
 * own: nobody calls it. */
static int tag_build_call(struct tag_build *b, uint32_t from, uint32_t to)
{
	uint32_t tail;
	int r;

	if (callgraph_at(b->graph, to)->is_root)
		return 0;
	r = callgraph_edge(b->graph, from, to);
	if (r == 0 && to < b->n_known && b->facts[to] & TAG_FACT_TAILS) {
		r = tag_set_node(b, TAG_SET_TAIL, to, &tail);
		if (r == 0)
			r = callgraph_edge(b->graph, from, tail);
	}
	return r;
}

/* The set of a shape. Functions whose shape is not known fit every one. */
static int tag_build_shape(struct tag_build *b, enum tag_set set, uint64_t shape,
			   uint32_t *ret_node)
{
	uint32_t before = callgraph_count(b->graph);
	int r = 0;

	if (!shape) {
		*ret_node = b->any;
		return 0;
	}
	r = tag_set_node(b, set, shape, ret_node);
	if (r == 0 && callgraph_count(b->graph) != before)
		r = callgraph_edge(b->graph, *ret_node, b->shapeless);
	return r;
}

static int tag_build_taken_as(struct tag_build *b, enum tag_set set, uint64_t shape, uint32_t node)
{
	uint32_t hub;
	int r = tag_build_shape(b, set, shape, &hub);

	return r < 0 ? r : tag_build_call(b, hub, node);
}

static int tag_build_taken(struct tag_build *b, const struct plugin_function *f, uint32_t node)
{
	int r = tag_build_call(b, b->any, node);

	if (r == 0)
		r = tag_build_call(b, b->foreign, node);
	if (r == 0 && !f->shape)
		return tag_build_call(b, b->shapeless, node);
	if (r == 0)
		r = tag_build_taken_as(b, TAG_SET_SHAPE, f->shape, node);
	if (r == 0 && f->flags & PLUGIN_FUNCTION_VIRTUAL)
		r = tag_build_taken_as(b, TAG_SET_VIRTUAL, f->shape, node);
	return r;
}

static int tag_build_target(struct tag_build *b, const struct plugin_edge *e, uint32_t from)
{
	uint32_t to;
	int r;

	if (e->flags & PLUGIN_EDGE_INDIRECT) {
		r = tag_build_shape(b,
				    e->flags & PLUGIN_EDGE_METHOD ? TAG_SET_VIRTUAL : TAG_SET_SHAPE,
				    e->callee, &to);
		return r < 0 ? r : callgraph_edge(b->graph, from, to);
	}
	to = tag_build_find(b, e->callee);
	if (to != CALLGRAPH_NONE)
		return tag_build_call(b, from, to);
	r = callgraph_edge(b->graph, from, b->foreign);
	return r < 0 ? r : callgraph_edge(b->graph, from, b->public);
}

static int tag_build_edge(struct tag_build *b, const struct plugin_edge *e)
{
	uint32_t from = tag_build_find(b, e->caller), tail;
	int r;

	if (from == CALLGRAPH_NONE)
		return 0; /* the caller's own record is gone: so is its code */
	r = tag_build_target(b, e, from);
	if (r < 0 || !(e->flags & PLUGIN_EDGE_TAIL))
		return r;
	r = tag_set_node(b, TAG_SET_TAIL, from, &tail);
	return r < 0 ? r : tag_build_target(b, e, tail);
}

typedef int (*tag_build_step)(struct tag_build *b, const struct plugin_edge *e);

static int tag_build_each(struct tag_build *b, tag_build_step step)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->model->files.count; i++) {
		const struct plugin_sections *s = &b->model->files.items[i];

		for (size_t k = 0; r == 0 && k < s->n_edges; k++)
			r = step(b, &s->edges[k]);
	}
	return r;
}

static int tag_step_tails(struct tag_build *b, const struct plugin_edge *e)
{
	uint32_t from;

	if (e->flags & PLUGIN_EDGE_TAKEN || !(e->flags & PLUGIN_EDGE_TAIL))
		return 0;
	from = tag_build_find(b, e->caller);
	if (from != CALLGRAPH_NONE)
		b->facts[from] |= TAG_FACT_TAILS;
	return 0;
}

static int tag_step_taken(struct tag_build *b, const struct plugin_edge *e)
{
	uint32_t node;

	if (!(e->flags & PLUGIN_EDGE_TAKEN))
		return 0;
	node = tag_build_find(b, e->callee);
	if (node != CALLGRAPH_NONE)
		b->facts[node] |= TAG_FACT_TAKEN;
	return 0;
}

static int tag_step_calls(struct tag_build *b, const struct plugin_edge *e)
{
	return e->flags & PLUGIN_EDGE_TAKEN ? 0 : tag_build_edge(b, e);
}

/* Functions whose address some file takes fill the sets. */
static int tag_build_sets(struct tag_build *b)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->model->files.count; i++) {
		const struct plugin_sections *s = &b->model->files.items[i];

		for (size_t k = 0; r == 0 && k < s->n_functions; k++) {
			uint32_t node = tag_build_find(b, s->functions[k].id);

			if (!(b->facts[node] & TAG_FACT_TAKEN))
				continue;
			if (!callgraph_at(b->graph, node)->is_transparent)
				callgraph_set_entry(b->graph, node);
			r = tag_build_taken(b, &s->functions[k], node);
		}
	}
	return r;
}

static int tag_build(struct tag_build *b)
{
	int r = callgraph_new(&b->graph);

	if (r == 0)
		r = tag_build_nodes(b);
	if (r < 0)
		return r;
	b->n_known = callgraph_count(b->graph);
	b->facts = calloc(b->n_known + 1, sizeof(*b->facts));
	if (!b->facts)
		return -ENOMEM;
	r = tag_build_each(b, tag_step_tails);
	if (r == 0)
		r = tag_build_each(b, tag_step_taken);
	if (r == 0)
		r = callgraph_edge(b->graph, b->any, b->shapeless);
	if (r == 0)
		r = tag_build_sets(b);
	return r < 0 ? r : tag_build_each(b, tag_step_calls);
}

int plugin_model_graph(const struct plugin_model *model, struct callgraph **ret_graph)
{
	struct tag_build b = {.model = model};
	int r = tag_build(&b);

	free(b.facts);
	if (r < 0) {
		callgraph_free(b.graph);
		return r;
	}
	*ret_graph = b.graph;
	return 0;
}
