/* SPDX-License-Identifier: MIT */
/*
 * Makes nodes and sets, and finds the targets of calls; see code_graph.h.
 *
 * In the graph of functions, a function is a node. In the graph of locations it is two sets, which
 * are transparent nodes, so that a call site needs two edges however large its callee is:
 *
 *     site ──► (f: sites)  ──► every call site in f ──► ...
 *          └─► (f: leaves) ──► every instruction of f           not followed downwards
 *
 * Tail calls are attributed to the caller: it calls f, the targets of f's tail calls, and so on, up
 * to CODE_GRAPH_TAILS functions.
 */
#include "callgraph/code_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strings.h"
#include "base/vec.h"
#include "callgraph/code_decode.h"
#include "stack/location.h"

#define CODE_GRAPH_TAILS 16   /* limit of the functions that a call reaches by tail calls */
#define MAX_INLINED	 1024 /* limit of the calls that an inlined function may make */
/* calls into the set of leaves are 2^LEAF_BITS times less likely, since paths end there */
#define LEAF_BITS    6
#define FOREIGN_BITS 3 /* the same as in plugin_model.c */
#define PUBLIC_BITS  8

/* A function of one of the files. */
struct code_ref {
	uint32_t file, function;
};

/* A function's tail calls: a range of code_graph.tails. */
struct code_tails {
	uint32_t first;
	uint16_t n;
	bool foreign; /* a tail call leads out of all files */
};

struct code_graph {
	const struct code_model *model; /* borrowed */
	struct callgraph *graph;	/* borrowed */
	struct strings *names;		/* of exports */
	VEC(struct code_ref) exports;	/* by name */
	uint32_t **nodes;  /* by file and function: the function's node, or that of the set of
			    * its call sites */
	uint32_t **leaves; /* by file and function: the node of the set of its instructions; NULL
			    * in the graph of functions */
	struct code_tails **tails_of; /* by file and function */
	VEC(struct code_ref) tails;
	uint32_t pointer, pointer_leaves, foreign, public; /* sets */
	bool only_hooked;
};

/* Returns whether a file's functions are in the graph. */
static bool is_in(const struct code_graph *b, uint32_t file)
{
	return !b->only_hooked || code_model_file(b->model, file)->scan.has_hooks;
}

/* Returns the function that a reference means. */
static const struct code_function *function_of(const struct code_graph *b, struct code_ref ref)
{
	return &code_model_file(b->model, ref.file)->scan.functions[ref.function];
}

/* Returns the number of the call after a function's last one. */
static uint32_t calls_end(const struct code_scan *scan, uint32_t function)
{
	return function + 1 < scan->n_functions ? scan->functions[function + 1].first_call
						: (uint32_t)scan->n_calls;
}

/* --- exports ------------------------------------------------------------------------------- */

static int build_export(struct code_graph *b, const char *name, struct code_ref ref)
{
	uint32_t number;
	int err = strings_intern(b->names, name, &number);

	if (err < 0 || number < b->exports.count)
		return err; /* an earlier file exports the name */
	err = VEC_RESERVE(&b->exports, 1);
	if (err == 0)
		b->exports.items[b->exports.count++] = ref;
	return err;
}

/* Reads the exports of all files. The first file that exports a name defines it. Returns 0 or
 * -ENOMEM. */
static int read_exports(struct code_graph *b)
{
	int err = strings_new(&b->names);

	for (uint32_t i = 0; err == 0 && i < code_model_count(b->model); i++) {
		const struct code_scan *scan = &code_model_file(b->model, i)->scan;

		for (size_t e = 0; err == 0 && is_in(b, i) && e < scan->n_exports; e++)
			err = build_export(b, strings_at(scan->names, scan->exports[e].name),
					   (struct code_ref){i, scan->exports[e].function});
	}
	return err;
}

/* Finds the function to which a call leads. Returns false if it is in none of the files. */
static bool target_of(struct code_graph *b, uint32_t file, const struct code_call *call,
		      struct code_ref *ret_to)
{
	const struct code_scan *scan = &code_model_file(b->model, file)->scan;
	uint32_t number;

	if (call->kind != CODE_CALL_IMPORT) {
		*ret_to = (struct code_ref){file, scan->functions[call->target].part_of};
		return true;
	}
	if (strings_intern(b->names, strings_at(scan->names, call->target), &number) < 0)
		return false;
	if (number >= b->exports.count) {
		/* The name is new, so no file exports it. Adds an entry, so that the next look-up
		 * of the name finds it. */
		if (VEC_RESERVE(&b->exports, 1) == 0)
			b->exports.items[b->exports.count++] = (struct code_ref){CODE_SCAN_NONE, 0};
		return false;
	}
	*ret_to = b->exports.items[number];
	return ret_to->file != CODE_SCAN_NONE;
}

/* --- calls --------------------------------------------------------------------------------- */

static int build_edges(struct code_graph *b, uint32_t from, uint32_t to, uint32_t leaves)
{
	int err = callgraph_edge(b->graph, from, to);

	return err < 0 || !b->leaves ? err : callgraph_edge(b->graph, from, leaves);
}

static int build_pointer(struct code_graph *b, uint32_t from)
{
	return build_edges(b, from, b->pointer, b->pointer_leaves);
}

/* Adds the callbacks that a call of unknown code may make. The graph of locations has none, since
 * the unknown code would itself be a link of the chain. */
static int build_foreign(struct code_graph *b, uint32_t from)
{
	int err = 0;

	if (!b->leaves)
		err = callgraph_edge(b->graph, from, b->foreign);
	return err < 0 || b->leaves ? err : callgraph_edge(b->graph, from, b->public);
}

/* Reads the tail calls of a function. Returns 0 or -ENOMEM. */
static int read_tails(struct code_graph *b, uint32_t file, uint32_t function)
{
	const struct code_scan *scan = &code_model_file(b->model, file)->scan;
	struct code_tails *tails = &b->tails_of[file][function];
	uint32_t end = calls_end(scan, function);

	tails->first = (uint32_t)b->tails.count;
	for (uint32_t c = scan->functions[function].first_call; c < end; c++) {
		struct code_ref to;

		if (!scan->calls[c].is_jump)
			continue;
		if (!target_of(b, file, &scan->calls[c], &to)) {
			tails->foreign = true;
		} else if (tails->n < CODE_GRAPH_TAILS) {
			if (VEC_RESERVE(&b->tails, 1) < 0)
				return -ENOMEM;
			b->tails.items[b->tails.count++] = to;
			tails->n++;
		}
	}
	return 0;
}

/* Adds the functions that a function tail-calls to the list, unless they are in it. */
static void build_tails(const struct code_graph *b, struct code_ref ref,
			struct code_ref list[CODE_GRAPH_TAILS], unsigned *n, bool *foreign)
{
	const struct code_tails *tails = &b->tails_of[ref.file][ref.function];

	*foreign |= tails->foreign;
	for (uint32_t t = 0; t < tails->n; t++) {
		struct code_ref to = b->tails.items[tails->first + t];
		bool known = false;

		for (unsigned i = 0; i < *n; i++)
			known |= list[i].file == to.file && list[i].function == to.function;
		if (!known && *n < CODE_GRAPH_TAILS)
			list[(*n)++] = to;
	}
}

/* Adds edges from a node to a function, and to the functions that it tail-calls; edges to sets of
 * leaves begin at `from_leaves`. Returns as callgraph_edge(). */
static int add_calls_as(struct code_graph *b, uint32_t from, uint32_t from_leaves,
			struct code_ref to)
{
	struct code_ref list[CODE_GRAPH_TAILS] = {to};
	bool foreign = false, pointer = false;
	unsigned n = 1;
	int err = 0;

	for (unsigned i = 0; err == 0 && i < n; i++) {
		struct code_ref at = list[i];

		pointer |= (function_of(b, at)->flags & CODE_POINTER) != 0;
		err = callgraph_edge(b->graph, from, b->nodes[at.file][at.function]);
		if (err == 0 && b->leaves)
			err = callgraph_edge(b->graph, from_leaves,
					     b->leaves[at.file][at.function]);
		build_tails(b, at, list, &n, &foreign);
	}
	if (err == 0 && pointer && from != b->pointer)
		err = build_pointer(b, from);
	return err == 0 && foreign ? build_foreign(b, from) : err;
}

/* Like add_calls_as(), with all edges from one node. */
static int add_calls_to(struct code_graph *b, uint32_t from, struct code_ref to)
{
	return add_calls_as(b, from, from, to);
}

/* Adds edges from a node to the functions to which a call can lead. Returns as callgraph_edge(). */
static int add_call(struct code_graph *b, uint32_t from, uint32_t file,
		    const struct code_call *call)
{
	struct code_ref to;

	if (call->kind == CODE_CALL_POINTER)
		return build_pointer(b, from);
	if (!target_of(b, file, call, &to))
		return build_foreign(b, from);
	return add_calls_to(b, from, to);
}

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

/* Writes "function (object+0xoffset)", as in paths of recordings; for a function only its name. */
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
	const struct code_file *f = code_model_file(b->model, file);
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

/* If the address of a function is taken, adds the function to the set of what calls through
 * pointers can reach. */
static int build_taken(struct code_graph *b, uint32_t file, uint32_t function)
{
	struct code_ref ref = {file, function};
	int err;

	if (!(function_of(b, ref)->flags & CODE_TAKEN) || function_of(b, ref)->part_of != function)
		return 0;
	err = add_calls_as(b, b->pointer, b->pointer_leaves, ref);
	return err < 0 || b->leaves ? err : add_calls_to(b, b->foreign, ref);
}

/* Adds the calls of a function, or of a part of it. A function that is inlined in it gets an edge
 * from it, and may make any of its calls, too. */
static int build_function_calls(struct code_graph *b, uint32_t file, uint32_t function)
{
	const struct code_scan *scan = &code_model_file(b->model, file)->scan;
	uint32_t end = calls_end(scan, function), first;
	uint32_t node = b->nodes[file][scan->functions[function].part_of];
	int err = 0;

	first = scan->functions[function].first_call;
	for (uint32_t c = first; err == 0 && c < end; c++) {
		uint32_t inlined;

		if (!scan->calls[c].is_jump)
			err = add_call(b, node, file, &scan->calls[c]);
		if (scan->calls[c].kind != CODE_CALL_INLINED)
			continue;
		inlined = b->nodes[file][scan->functions[scan->calls[c].target].part_of];
		for (uint32_t k = first; err == 0 && k < end && k < first + MAX_INLINED; k++)
			if (k != c && !scan->calls[k].is_jump)
				err = add_call(b, inlined, file, &scan->calls[k]);
	}
	return err;
}

typedef int (*build_step)(struct code_graph *b, uint32_t file, uint32_t function);

/* Runs the steps one after another, each for all functions. */
static int build_steps(struct code_graph *b, const build_step *steps, size_t n)
{
	int err = 0;

	for (size_t step = 0; step < n; step++)
		for (uint32_t i = 0; err == 0 && i < code_model_count(b->model); i++) {
			size_t functions = code_model_file(b->model, i)->scan.n_functions;

			for (uint32_t f = 0; is_in(b, i) && err == 0 && f < functions; f++)
				err = steps[step](b, i, f);
		}
	return err;
}

static int build_functions(struct code_graph *b)
{
	static const build_step steps[] = {build_function_node, read_tails, build_taken,
					   build_function_calls};
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
	const struct code_file *f = code_model_file(b->model, leaf->file);
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
	const struct code_file *f = code_model_file(b->model, file);
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
	const struct code_file *f = code_model_file(b->model, file);
	const struct code_scan *scan = &f->scan;
	uint32_t whole = scan->functions[function].part_of, node;
	uint32_t end = calls_end(scan, function);
	int err = 0;

	for (uint32_t c = scan->functions[function].first_call; err == 0 && c < end; c++) {
		if (scan->calls[c].is_jump || scan->calls[c].kind == CODE_CALL_INLINED)
			continue;
		err = build_node(b, f, function, scan->calls[c].last, false, &node);
		if (err == 0)
			err = callgraph_edge(b->graph, b->nodes[file][whole], node);
		if (err == 0)
			err = add_call(b, node, file, &scan->calls[c]);
		if (err == 0 && scan->functions[whole].flags & CODE_FIRST)
			callgraph_set_root(b->graph, node);
	}
	return err;
}

static int build_leaves_of(struct code_graph *b, uint32_t file, uint32_t function)
{
	const struct code_file *f = code_model_file(b->model, file);
	struct build_leaf leaf = {b, file, function};

	return code_decode_each(&f->scan, f->file, function, build_leaf, &leaf);
}

/* Adds edges to main from the calls through pointers in a function, and in its callees down to
 * `levels` levels. */
static int build_reaches_main(struct code_graph *b, struct code_ref ref, uint32_t main,
			      unsigned levels)
{
	const struct code_file *f = code_model_file(b->model, ref.file);
	uint32_t end = calls_end(&f->scan, ref.function), node;
	int err = 0;

	for (uint32_t c = function_of(b, ref)->first_call; err == 0 && c < end; c++) {
		const struct code_call *call = &f->scan.calls[c];
		struct code_ref to;

		if (call->kind == CODE_CALL_POINTER) {
			err = build_node(b, f, ref.function, call->last, false, &node);
			if (err == 0)
				err = callgraph_edge(b->graph, node, main);
		} else if (levels && call->kind == CODE_CALL_FUNCTION && !call->is_jump &&
			   target_of(b, ref.file, call, &to)) {
			err = build_reaches_main(b, to, main, levels - 1);
		}
	}
	return err;
}

/* Makes main a likely target of the C library's start code. The entry point calls that code, which
 * calls main through a pointer. */
static int build_start(struct code_graph *b, uint32_t file, uint32_t function)
{
	const struct code_scan *scan = &code_model_file(b->model, file)->scan;
	uint32_t main = CODE_SCAN_NONE, end = calls_end(scan, function);
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
		    target_of(b, file, &scan->calls[c], &to))
			err = build_reaches_main(b, to, b->nodes[file][main], 1);
	}
	return err;
}

static int build_locations(struct code_graph *b)
{
	static const build_step steps[] = {build_sets,	read_tails,  build_taken,
					   build_sites, build_start, build_leaves_of};
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
	for (size_t i = 0; i < code_model_count(b->model); i++) {
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

/* Allocates an array of arrays, by file and function, with elements of `size` bytes; NULL: out of
 * memory. */
static void *build_table(const struct code_model *model, size_t size)
{
	void **table = calloc(code_model_count(model) + 1, sizeof(*table));
	bool failed = !table;

	for (size_t i = 0; !failed && i < code_model_count(model); i++) {
		table[i] = calloc(code_model_file(model, i)->scan.n_functions + 1, size);
		failed = !table[i];
	}
	if (!failed)
		return table;
	for (size_t i = 0; table && i < code_model_count(model); i++)
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
		err = read_exports(&b);
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
