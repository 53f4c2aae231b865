/* SPDX-License-Identifier: MIT */
/*
 * Nodes and sets; see code_graph.h.
 *
 * In the graph of functions, a function is a node. In the graph of locations it is two sets, which
 * are transparent nodes, so that a call site needs two edges however large its callee is:
 *
 *     site ──► (f: sites)  ──► every call site in f ──► ...
 *          └─► (f: leaves) ──► every instruction of f           not followed downwards
 */
#include "callgraph/code_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "callgraph/code_decode.h"
#include "callgraph/code_graph_state.h"
#include "stack/location.h"

#define MAX_INLINED  1024 /* calls of a function that may be those of a function inlined in it */
#define LEAF_BITS    6	  /* paths do not continue below a leaf */
#define FOREIGN_BITS 3	  /* as in plugin_model.c */
#define PUBLIC_BITS  8

/* The kinds of sets, from which their ids are made. */
enum code_set {
	CODE_SET_SITES = 101,
	CODE_SET_LEAVES,
	CODE_SET_POINTER,
	CODE_SET_POINTER_LEAVES,
	CODE_SET_FOREIGN,
	CODE_SET_PUBLIC,
};

/* --- names and ids ------------------------------------------------------------------------- */

static uint64_t build_offset(const struct code_file *f, uint64_t vaddr)
{
	uint64_t offset;

	return elf_file_vaddr_to_offset(f->file, vaddr, &offset) ? offset : vaddr;
}

/* Writes "function (object+0xoffset)", as in paths of recordings; of a function only its name. */
static void build_name(const struct code_file *f, uint32_t function, uint64_t offset,
		       bool is_function, char *ret_name, size_t size)
{
	uint32_t whole = f->scan.functions[function].part_of;
	const char *name = strings_at(f->scan.names, f->scan.functions[whole].name);

	if (!*name)
		snprintf(ret_name, size, "%s+0x%llx", f->name, (unsigned long long)offset);
	else if (is_function)
		snprintf(ret_name, size, "%s", name);
	else
		snprintf(ret_name, size, "%s (%s+0x%llx)", name, f->name,
			 (unsigned long long)offset);
}

/* Finds or adds the node of a location. */
static int build_node(struct code_graph *b, const struct code_file *f, uint32_t function,
		      uint64_t vaddr, bool is_function, uint32_t *ret_node)
{
	uint64_t offset = build_offset(f, vaddr);
	uint64_t id = location_id(b->leaves ? f->scan.file_id : f->scan.hooks_id, offset);
	char name[512];

	*ret_node = callgraph_find(b->graph, id);
	if (*ret_node != CALLGRAPH_NONE)
		return 0;
	build_name(f, function, offset, is_function, name, sizeof(name));
	return callgraph_node(b->graph, id, name, ret_node);
}

static int build_set(struct code_graph *b, enum code_set set, const struct code_file *f,
		     uint32_t function, const char *name, uint32_t *ret_node)
{
	uint64_t id = hash_mix64((uint64_t)set << 32 | function);

	if (f)
		id = hash_mix64(id + location_id(f->scan.file_id, (uint64_t)set));
	return callgraph_transparent(b->graph, id, name, ret_node);
}

/* --- the graph of functions ---------------------------------------------------------------- */

static int build_function_node(struct code_graph *b, uint32_t file, uint32_t function)
{
	const struct code_file *f = &b->model->files.items[file];
	const struct code_function *fn = &f->scan.functions[function];
	uint32_t node;
	int err;

	if (fn->part_of != function)
		return 0;
	err = build_node(b, f, function, fn->start, true, &node);
	if (err < 0)
		return err;
	b->nodes[file][function] = node;
	if (fn->flags & (CODE_MAIN | CODE_FIRST))
		callgraph_set_root(b->graph, node);
	if (fn->flags & CODE_PUBLIC) {
		callgraph_set_public(b->graph, node);
		err = callgraph_edge(b->graph, b->public, node);
	}
	if (fn->flags & CODE_TAKEN)
		callgraph_set_entry(b->graph, node);
	return err;
}

/* Adds a function whose address is taken to the targets of pointers. */
static int build_taken(struct code_graph *b, uint32_t file, uint32_t function)
{
	struct code_ref ref = {file, function};
	int err;

	if (!(code_graph_function(b, ref)->flags & CODE_TAKEN) ||
	    code_graph_function(b, ref)->part_of != function)
		return 0;
	err = code_graph_calls_add_as(b, b->pointer, b->pointer_leaves, ref);
	return err < 0 || b->leaves ? err : code_graph_calls_add_to(b, b->foreign, ref);
}

/* Adds the calls of a function, or of a part of it. A function that is inlined in it, which appears
 * as called by it, may make any of these calls, too. */
static int build_function_calls(struct code_graph *b, uint32_t file, uint32_t function)
{
	const struct code_scan *scan = &b->model->files.items[file].scan;
	uint32_t end = code_graph_calls_end(scan, function), first;
	uint32_t node = b->nodes[file][scan->functions[function].part_of];
	int err = 0;

	first = scan->functions[function].first_call;
	for (uint32_t c = first; err == 0 && c < end; c++) {
		uint32_t inlined;

		if (!scan->calls[c].is_jump)
			err = code_graph_calls_add(b, node, file, &scan->calls[c]);
		if (scan->calls[c].kind != CODE_CALL_INLINED)
			continue;
		inlined = b->nodes[file][scan->functions[scan->calls[c].target].part_of];
		for (uint32_t k = first; err == 0 && k < end && k < first + MAX_INLINED; k++)
			if (k != c && !scan->calls[k].is_jump)
				err = code_graph_calls_add(b, inlined, file, &scan->calls[k]);
	}
	return err;
}

typedef int (*build_step)(struct code_graph *b, uint32_t file, uint32_t function);

/* Runs the steps one after another, each for all functions. */
static int build_steps(struct code_graph *b, const build_step *steps, size_t n)
{
	int err = 0;

	for (size_t step = 0; step < n; step++)
		for (uint32_t i = 0; err == 0 && i < b->model->files.count; i++) {
			size_t functions = b->model->files.items[i].scan.n_functions;

			for (uint32_t f = 0; code_graph_is_in(b, i) && err == 0 && f < functions;
			     f++)
				err = steps[step](b, i, f);
		}
	return err;
}

static int build_functions(struct code_graph *b)
{
	static const build_step steps[] = {build_function_node, code_graph_calls_read_tails,
					   build_taken, build_function_calls};
	int err = build_set(b, CODE_SET_POINTER, NULL, 0, "[pointer]", &b->pointer);

	if (err == 0)
		err = build_set(b, CODE_SET_FOREIGN, NULL, 0, "[callback]", &b->foreign);
	if (err == 0)
		err = build_set(b, CODE_SET_PUBLIC, NULL, 0, "[public]", &b->public);
	if (err < 0)
		return err;
	callgraph_set_unlikely(b->graph, b->foreign, FOREIGN_BITS);
	callgraph_set_unlikely(b->graph, b->public, PUBLIC_BITS);
	return build_steps(b, steps, sizeof(steps) / sizeof(*steps));
}

/* --- the graph of locations ---------------------------------------------------------------- */

struct build_leaf {
	struct code_graph *b;
	uint32_t file, function;
};

static int build_leaf(void *arg, uint64_t vaddr)
{
	struct build_leaf *leaf = arg;
	struct code_graph *b = leaf->b;
	const struct code_file *f = &b->model->files.items[leaf->file];
	uint32_t whole = f->scan.functions[leaf->function].part_of, node;
	uint32_t known = callgraph_count(b->graph);
	int err = build_node(b, f, leaf->function, vaddr, false, &node);

	if (err < 0)
		return err;
	if (node >= known)
		callgraph_set_leaf(b->graph, node);
	return callgraph_edge(b->graph, b->leaves[leaf->file][whole], node);
}

/* Makes the two sets of a function. */
static int build_sets(struct code_graph *b, uint32_t file, uint32_t function)
{
	const struct code_file *f = &b->model->files.items[file];
	int err;

	if (f->scan.functions[function].part_of != function)
		return 0;
	err = build_set(b, CODE_SET_SITES, f, function, "[sites]", &b->nodes[file][function]);
	if (err == 0)
		err = build_set(b, CODE_SET_LEAVES, f, function, "[leaves]",
				&b->leaves[file][function]);
	if (err < 0)
		return err;
	callgraph_set_unlikely(b->graph, b->leaves[file][function], LEAF_BITS);
	return 0;
}

static int build_sites(struct code_graph *b, uint32_t file, uint32_t function)
{
	const struct code_file *f = &b->model->files.items[file];
	const struct code_scan *scan = &f->scan;
	uint32_t whole = scan->functions[function].part_of, node;
	uint32_t end = code_graph_calls_end(scan, function);
	int err = 0;

	for (uint32_t c = scan->functions[function].first_call; err == 0 && c < end; c++) {
		if (scan->calls[c].is_jump || scan->calls[c].kind == CODE_CALL_INLINED)
			continue;
		err = build_node(b, f, function, scan->calls[c].last, false, &node);
		if (err == 0)
			err = callgraph_edge(b->graph, b->nodes[file][whole], node);
		if (err == 0)
			err = code_graph_calls_add(b, node, file, &scan->calls[c]);
		if (err == 0 && scan->functions[whole].flags & CODE_FIRST)
			callgraph_set_root(b->graph, node);
	}
	return err;
}

static int build_leaves_of(struct code_graph *b, uint32_t file, uint32_t function)
{
	const struct code_file *f = &b->model->files.items[file];
	struct build_leaf leaf = {b, file, function};

	return code_decode_each(&f->scan, f->file, function, build_leaf, &leaf);
}

/* Adds edges to main from the calls through pointers in a function, and in the functions that it
 * calls, down to `levels` below it. */
static int build_reaches_main(struct code_graph *b, struct code_ref ref, uint32_t main,
			      unsigned levels)
{
	const struct code_file *f = &b->model->files.items[ref.file];
	uint32_t end = code_graph_calls_end(&f->scan, ref.function), node;
	int err = 0;

	for (uint32_t c = code_graph_function(b, ref)->first_call; err == 0 && c < end; c++) {
		const struct code_call *call = &f->scan.calls[c];
		struct code_ref to;

		if (call->kind == CODE_CALL_POINTER) {
			err = build_node(b, f, ref.function, call->last, false, &node);
			if (err == 0)
				err = callgraph_edge(b->graph, node, main);
		} else if (levels && call->kind == CODE_CALL_FUNCTION && !call->is_jump &&
			   code_graph_calls_target(b, ref.file, call, &to)) {
			err = build_reaches_main(b, to, main, levels - 1);
		}
	}
	return err;
}

/* Makes main a likely target of the C library's start code, which the entry point calls and which
 * calls main through a pointer. */
static int build_start(struct code_graph *b, uint32_t file, uint32_t function)
{
	const struct code_scan *scan = &b->model->files.items[file].scan;
	uint32_t main = CODE_SCAN_NONE, end = code_graph_calls_end(scan, function);
	int err = 0;

	if (!(scan->functions[function].flags & CODE_FIRST))
		return 0;
	for (uint32_t f = 0; f < scan->n_functions; f++)
		if (scan->functions[f].flags & CODE_MAIN)
			main = f;
	for (uint32_t c = scan->functions[function].first_call;
	     main != CODE_SCAN_NONE && err == 0 && c < end; c++) {
		struct code_ref to;

		if (scan->calls[c].kind != CODE_CALL_POINTER &&
		    code_graph_calls_target(b, file, &scan->calls[c], &to))
			err = build_reaches_main(b, to, b->nodes[file][main], 1);
	}
	return err;
}

static int build_locations(struct code_graph *b)
{
	static const build_step steps[] = {build_sets,	code_graph_calls_read_tails,
					   build_taken, build_sites,
					   build_start, build_leaves_of};
	int err = build_set(b, CODE_SET_POINTER, NULL, 0, "[pointer]", &b->pointer);

	if (err == 0)
		err = build_set(b, CODE_SET_POINTER_LEAVES, NULL, 0, "[pointer]",
				&b->pointer_leaves);
	if (err == 0)
		callgraph_set_unlikely(b->graph, b->pointer_leaves, LEAF_BITS);
	return err < 0 ? err : build_steps(b, steps, sizeof(steps) / sizeof(*steps));
}

/* --- building ------------------------------------------------------------------------------ */

static void build_release(struct code_graph *b)
{
	for (size_t i = 0; i < b->model->files.count; i++) {
		free(b->nodes ? b->nodes[i] : NULL);
		free(b->leaves ? b->leaves[i] : NULL);
		free(b->tails_of ? b->tails_of[i] : NULL);
	}
	free(b->tails_of);
	free(b->tails.items);
	free(b->nodes);
	free(b->leaves);
	free(b->exports.items);
	strings_free(b->names);
}

/* Allocates an array for each file, with room for each function; NULL: out of memory. */
static void *build_table(const struct code_model *model, size_t size)
{
	void **table = calloc(model->files.count + 1, sizeof(*table));
	bool failed = !table;

	for (size_t i = 0; !failed && i < model->files.count; i++) {
		table[i] = calloc(model->files.items[i].scan.n_functions + 1, size);
		failed = !table[i];
	}
	if (!failed)
		return table;
	for (size_t i = 0; table && i < model->files.count; i++)
		free(table[i]);
	free(table);
	return NULL;
}

static int build(const struct code_model *model, struct callgraph *graph, bool locations)
{
	struct code_graph b = {.model = model, .graph = graph};
	int err = 0;

	b.only_hooked = !locations && code_model_has_hooks(model);
	b.nodes = build_table(model, sizeof(**b.nodes));
	b.leaves = locations ? build_table(model, sizeof(**b.leaves)) : NULL;
	b.tails_of = build_table(model, sizeof(**b.tails_of));
	if (!b.nodes || !b.tails_of || (locations && !b.leaves))
		err = -ENOMEM;
	if (err == 0)
		err = code_graph_calls_read_exports(&b);
	if (err == 0)
		err = locations ? build_locations(&b) : build_functions(&b);
	build_release(&b);
	return err;
}

int code_graph_locations(const struct code_model *model, struct callgraph *graph)
{
	return build(model, graph, true);
}

int code_graph_functions(const struct code_model *model, struct callgraph *graph)
{
	return build(model, graph, false);
}
