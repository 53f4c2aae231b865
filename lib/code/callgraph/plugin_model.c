/* SPDX-License-Identifier: MIT */
/*
 * Makes a call graph from the plugin's sections; see plugin_model.h.
 *
 * Nodes are found by ids: a function's node by its id, a set's by a key of its kind and a number.
 * The nodes of functions are added first, then the members of sets (functions whose address is
 * taken), then the calls.
 */
#include "callgraph/plugin_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

struct plugin_model {
	VEC(struct plugin_sections) files; /* owned */
	size_t n_functions;
};

/* The kinds of transparent nodes. A node's key is made of its kind and a number. */
enum set {
	SET_LEFT_OUT, /* one function without instrumentation; number: its id */
	SET_TAIL,     /* the functions that a function tail-calls; number: the function's node */
	SET_SHAPE,    /* functions of one shape whose address is taken; number: the shape */
	SET_VIRTUAL,  /* the virtual functions among these */
	SET_UNKNOWN,  /* functions whose address is taken, of unknown shape */
	SET_TAKEN,    /* all functions whose address is taken */
	SET_FOREIGN,  /* the same functions, as callbacks of foreign code */
	SET_PUBLIC,   /* functions that other files may call */
};

static const char *const set_names[] = {
	[SET_LEFT_OUT] = "[left out]",	  [SET_TAIL] = "[tail calls]",
	[SET_SHAPE] = "[pointer]",	  [SET_VIRTUAL] = "[virtual]",
	[SET_UNKNOWN] = "[unprototyped]", [SET_TAKEN] = "[any pointer]",
	[SET_FOREIGN] = "[callback]",	  [SET_PUBLIC] = "[public]",
};

/* Such calls are 2^n times less likely than a call in the code. */
#define PLUGIN_MODEL_FOREIGN_BITS 3
#define PLUGIN_MODEL_PUBLIC_BITS  8

enum fact { FACT_TAILS = 1, FACT_TAKEN = 2 };

struct build {
	const struct plugin_model *model;
	struct callgraph *graph;
	uint8_t *facts;	    /* by node of a function: enum fact */
	size_t n_functions; /* nodes of functions; those of sets have higher numbers */
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

static int set_node(struct build *b, enum set set, uint64_t number, uint32_t *ret_node)
{
	return callgraph_transparent(b->graph, hash_mix64(number + set) + set, set_names[set],
				     ret_node);
}

static int function_node(struct build *b, const struct plugin_function *f)
{
	uint32_t node;
	int err;

	if (f->flags & PLUGIN_FUNCTION_LEFT_OUT)
		return set_node(b, SET_LEFT_OUT, f->id, &node);
	err = callgraph_node(b->graph, f->id, f->name, &node);
	if (err < 0)
		return err;
	if (f->flags & PLUGIN_FUNCTION_ROOT || strcmp(f->name, "main") == 0)
		callgraph_set_root(b->graph, node);
	if (f->flags & PLUGIN_FUNCTION_PUBLIC) {
		callgraph_set_public(b->graph, node);
		err = callgraph_edge(b->graph, b->public, node);
	}
	return err;
}

static int set_new(struct build *b, enum set set, unsigned bits, uint32_t *ret_node)
{
	int err = set_node(b, set, 0, ret_node);

	if (err == 0)
		callgraph_set_unlikely(b->graph, *ret_node, bits);
	return err;
}

static int build_nodes(struct build *b)
{
	int err = set_new(b, SET_UNKNOWN, 0, &b->shapeless);

	if (err == 0)
		err = set_new(b, SET_TAKEN, 0, &b->any);
	if (err == 0)
		err = set_new(b, SET_FOREIGN, PLUGIN_MODEL_FOREIGN_BITS, &b->foreign);
	if (err == 0)
		err = set_new(b, SET_PUBLIC, PLUGIN_MODEL_PUBLIC_BITS, &b->public);
	for (size_t i = 0; err == 0 && i < b->model->files.count; i++) {
		const struct plugin_sections *s = &b->model->files.items[i];

		for (size_t k = 0; err == 0 && k < s->n_functions; k++)
			err = function_node(b, &s->functions[k]);
	}
	return err;
}

/* Returns the node of a function, real or left out; CALLGRAPH_NONE: no section lists the
 * function. */
static uint32_t build_find(const struct build *b, uint64_t id)
{
	uint32_t node = callgraph_find(b->graph, id);

	if (node == CALLGRAPH_NONE)
		node = callgraph_find_transparent(b->graph,
						  hash_mix64(id + SET_LEFT_OUT) + SET_LEFT_OUT);
	return node;
}

/* --- edges --------------------------------------------------------------------------------- */

/* Adds a call of a function, and of the functions that it tail-calls. A call of a root is left out,
 * since a root begins a new chain. */
static int build_call(struct build *b, uint32_t from, uint32_t to)
{
	uint32_t tail;
	int err;

	if (callgraph_at(b->graph, to)->is_root)
		return 0;
	err = callgraph_edge(b->graph, from, to);
	if (err == 0 && to < b->n_functions && b->facts[to] & FACT_TAILS) {
		err = set_node(b, SET_TAIL, to, &tail);
		if (err == 0)
			err = callgraph_edge(b->graph, from, tail);
	}
	return err;
}

/* Finds or makes the set of the functions of a shape. It includes the functions of unknown
 * shape. */
static int build_shape(struct build *b, enum set set, uint64_t shape, uint32_t *ret_node)
{
	uint32_t before = callgraph_count(b->graph);
	int err = 0;

	if (!shape) {
		*ret_node = b->any;
		return 0;
	}
	err = set_node(b, set, shape, ret_node);
	if (err == 0 && callgraph_count(b->graph) != before)
		err = callgraph_edge(b->graph, *ret_node, b->shapeless);
	return err;
}

static int build_taken_as(struct build *b, enum set set, uint64_t shape, uint32_t node)
{
	uint32_t hub;
	int err = build_shape(b, set, shape, &hub);

	return err < 0 ? err : build_call(b, hub, node);
}

static int build_taken(struct build *b, const struct plugin_function *f, uint32_t node)
{
	int err = build_call(b, b->any, node);

	if (err == 0)
		err = build_call(b, b->foreign, node);
	if (err == 0 && !f->shape)
		return build_call(b, b->shapeless, node);
	if (err == 0)
		err = build_taken_as(b, SET_SHAPE, f->shape, node);
	if (err == 0 && f->flags & PLUGIN_FUNCTION_VIRTUAL)
		err = build_taken_as(b, SET_VIRTUAL, f->shape, node);
	return err;
}

static int build_target(struct build *b, const struct plugin_edge *e, uint32_t from)
{
	uint32_t to;
	int err;

	if (e->flags & PLUGIN_EDGE_INDIRECT) {
		err = build_shape(b, e->flags & PLUGIN_EDGE_METHOD ? SET_VIRTUAL : SET_SHAPE,
				  e->callee, &to);
		return err < 0 ? err : callgraph_edge(b->graph, from, to);
	}
	to = build_find(b, e->callee);
	if (to != CALLGRAPH_NONE)
		return build_call(b, from, to);
	err = callgraph_edge(b->graph, from, b->foreign);
	return err < 0 ? err : callgraph_edge(b->graph, from, b->public);
}

static int build_edge(struct build *b, const struct plugin_edge *e)
{
	uint32_t from = build_find(b, e->caller), tail;
	int err;

	if (from == CALLGRAPH_NONE)
		return 0; /* the linker has dropped the caller, and its record */
	err = build_target(b, e, from);
	if (err < 0 || !(e->flags & PLUGIN_EDGE_TAIL))
		return err;
	err = set_node(b, SET_TAIL, from, &tail);
	return err < 0 ? err : build_target(b, e, tail);
}

typedef int (*build_step)(struct build *b, const struct plugin_edge *e);

static int build_each(struct build *b, build_step step)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < b->model->files.count; i++) {
		const struct plugin_sections *s = &b->model->files.items[i];

		for (size_t k = 0; err == 0 && k < s->n_edges; k++)
			err = step(b, &s->edges[k]);
	}
	return err;
}

static int mark_tails(struct build *b, const struct plugin_edge *e)
{
	uint32_t from;

	if (e->flags & PLUGIN_EDGE_TAKEN || !(e->flags & PLUGIN_EDGE_TAIL))
		return 0;
	from = build_find(b, e->caller);
	if (from != CALLGRAPH_NONE)
		b->facts[from] |= FACT_TAILS;
	return 0;
}

static int mark_taken(struct build *b, const struct plugin_edge *e)
{
	uint32_t node;

	if (!(e->flags & PLUGIN_EDGE_TAKEN))
		return 0;
	node = build_find(b, e->callee);
	if (node != CALLGRAPH_NONE)
		b->facts[node] |= FACT_TAKEN;
	return 0;
}

static int build_if_call(struct build *b, const struct plugin_edge *e)
{
	return e->flags & PLUGIN_EDGE_TAKEN ? 0 : build_edge(b, e);
}

/* Adds the functions whose address is taken to the sets. */
static int build_sets(struct build *b)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < b->model->files.count; i++) {
		const struct plugin_sections *s = &b->model->files.items[i];

		for (size_t k = 0; err == 0 && k < s->n_functions; k++) {
			uint32_t node = build_find(b, s->functions[k].id);

			if (!(b->facts[node] & FACT_TAKEN))
				continue;
			if (!callgraph_at(b->graph, node)->is_transparent)
				callgraph_set_entry(b->graph, node);
			err = build_taken(b, &s->functions[k], node);
		}
	}
	return err;
}

static int build(struct build *b)
{
	int err = callgraph_new(&b->graph);

	if (err == 0)
		err = build_nodes(b);
	if (err < 0)
		return err;
	b->n_functions = callgraph_count(b->graph);
	b->facts = calloc(b->n_functions + 1, sizeof(*b->facts));
	if (!b->facts)
		return -ENOMEM;
	err = build_each(b, mark_tails);
	if (err == 0)
		err = build_each(b, mark_taken);
	if (err == 0)
		err = callgraph_edge(b->graph, b->any, b->shapeless);
	if (err == 0)
		err = build_sets(b);
	return err < 0 ? err : build_each(b, build_if_call);
}

int plugin_model_graph(const struct plugin_model *model, struct callgraph **ret_graph)
{
	struct build b = {.model = model};
	int err = build(&b);

	free(b.facts);
	if (err < 0) {
		callgraph_free(b.graph);
		return err;
	}
	*ret_graph = b.graph;
	return 0;
}
