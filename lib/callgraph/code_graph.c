/* SPDX-License-Identifier: MIT */
/*
 * From code to a call graph; see code_model.h.
 *
 * Functions are nodes in one graph. In the other a function is two sets, transparent nodes, so that
 * a call site needs two edges however large its callee is:
 *
 *     site ──► (f: sites)  ──► every call site in f ──► ...
 *          └─► (f: leaves) ──► every instruction of f           not followed downwards
 *
 * Tail calls are resolved at the caller: it calls f, and what f jumps to, and so on, up to
 * CODE_MODEL_TAILS functions.
 */
#include "callgraph/code_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strings.h"
#include "stack/location.h"
#include "callgraph/code_model_state.h"

#define CODE_MODEL_TAILS	16
#define CODE_MODEL_INLINED	1024 /* calls of a function that may be those of what is inlined */
#define CODE_MODEL_LEAF_BITS	6    /* a leaf is no way on */
#define CODE_MODEL_FOREIGN_BITS 3    /* as in tag_model.c */
#define CODE_MODEL_PUBLIC_BITS	8

/* A function of one of the files. */
struct code_place {
	uint32_t file, function;
};

struct code_tails {
	uint32_t first;
	uint16_t n;
	bool foreign; /* code that is in no file here */
};

struct build {
	const struct code_model *model;
	struct callgraph *graph;
	struct strings *names;		/* of exports */
	VEC(struct code_place) exports; /* by name */
	uint32_t **nodes;		/* by file and function: itself, or the set of its sites */
	uint32_t **leaves; /* the set of its instructions; NULL in the graph of functions */
	struct code_tails **tails_of; /* by file and function */
	VEC(struct code_place) tails;
	uint32_t pointer, pointer_leaves, foreign, public;
	bool only_hooked;
};

/* What the ids of sets are made of. */
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

/* "function (object+0xoffset)", as paths of recordings are shown, too; the function itself is shown
 * by its name. */
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

/* The node of a place: the one that the graph has already, or a new one. */
static int build_node(struct build *b, const struct code_file *f, uint32_t function, uint64_t vaddr,
		      bool is_function, uint32_t *ret_node)
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

static int build_set(struct build *b, enum code_set set, const struct code_file *f,
		     uint32_t function, const char *name, uint32_t *ret_node)
{
	uint64_t id = hash_mix64((uint64_t)set << 32 | function);

	if (f)
		id = hash_mix64(id + location_id(f->scan.file_id, (uint64_t)set));
	return callgraph_transparent(b->graph, id, name, ret_node);
}

/* --- exports ------------------------------------------------------------------------------- */

static bool build_is_in(const struct build *b, uint32_t file)
{
	return !b->only_hooked || b->model->files.items[file].scan.has_hooks;
}

static int build_export(struct build *b, const char *name, struct code_place place)
{
	uint32_t number;
	int r = strings_intern(b->names, name, &number);

	if (r < 0 || number < b->exports.count)
		return r; /* the first file that has it */
	r = VEC_RESERVE(&b->exports, 1);
	if (r == 0)
		b->exports.items[b->exports.count++] = place;
	return r;
}

static int build_exports(struct build *b)
{
	int r = strings_new(&b->names);

	for (uint32_t i = 0; r == 0 && i < b->model->files.count; i++) {
		const struct code_scan *scan = &b->model->files.items[i].scan;

		for (size_t e = 0; r == 0 && build_is_in(b, i) && e < scan->n_exports; e++)
			r = build_export(b, strings_at(scan->names, scan->exports[e].name),
					 (struct code_place){i, scan->exports[e].function});
	}
	return r;
}

/* Where a call of a file leads. false: to code that is in no file here. */
static bool build_target(struct build *b, uint32_t file, const struct code_call *call,
			 struct code_place *ret_place)
{
	const struct code_scan *scan = &b->model->files.items[file].scan;
	uint32_t number;

	if (call->kind != CODE_CALL_IMPORT) {
		*ret_place = (struct code_place){file, scan->functions[call->target].part_of};
		return true;
	}
	if (strings_intern(b->names, strings_at(scan->names, call->target), &number) < 0)
		return false;
	if (number >= b->exports.count) {
		/* a new name: nobody has it, which the next question finds here */
		if (VEC_RESERVE(&b->exports, 1) == 0)
			b->exports.items[b->exports.count++] =
				(struct code_place){CODE_SCAN_NONE, 0};
		return false;
	}
	*ret_place = b->exports.items[number];
	return ret_place->file != CODE_SCAN_NONE;
}

/* --- calls --------------------------------------------------------------------------------- */

static const struct code_function *build_function(const struct build *b, struct code_place place)
{
	return &b->model->files.items[place.file].scan.functions[place.function];
}

static int build_edges(struct build *b, uint32_t from, uint32_t to, uint32_t leaves)
{
	int r = callgraph_edge(b->graph, from, to);

	return r < 0 || !b->leaves ? r : callgraph_edge(b->graph, from, leaves);
}

static int build_pointer(struct build *b, uint32_t from)
{
	return build_edges(b, from, b->pointer, b->pointer_leaves);
}

/* Code that is not known may call back. (In the graph of places it would stand in the chain.) */
static int build_foreign(struct build *b, uint32_t from)
{
	int r = 0;

	if (!b->leaves)
		r = callgraph_edge(b->graph, from, b->foreign);
	return r < 0 || b->leaves ? r : callgraph_edge(b->graph, from, b->public);
}

static uint32_t build_calls_end(const struct code_scan *scan, uint32_t function)
{
	return function + 1 < scan->n_functions ? scan->functions[function + 1].first_call
						: (uint32_t)scan->n_calls;
}

/* What a function ends with: a part of the list of all tails, no more than CODE_MODEL_TAILS. */
static int build_tails_of(struct build *b, uint32_t file, uint32_t function)
{
	const struct code_scan *scan = &b->model->files.items[file].scan;
	struct code_tails *tails = &b->tails_of[file][function];
	uint32_t end = build_calls_end(scan, function);

	tails->first = (uint32_t)b->tails.count;
	for (uint32_t c = scan->functions[function].first_call; c < end; c++) {
		struct code_place to;

		if (!scan->calls[c].is_jump)
			continue;
		if (!build_target(b, file, &scan->calls[c], &to)) {
			tails->foreign = true;
		} else if (tails->n < CODE_MODEL_TAILS) {
			if (VEC_RESERVE(&b->tails, 1) < 0)
				return -ENOMEM;
			b->tails.items[b->tails.count++] = to;
			tails->n++;
		}
	}
	return 0;
}

/* Adds a function's tails to the list, if they are new there. */
static void build_tails(const struct build *b, struct code_place place,
			struct code_place list[CODE_MODEL_TAILS], unsigned *n, bool *foreign)
{
	const struct code_tails *tails = &b->tails_of[place.file][place.function];

	*foreign |= tails->foreign;
	for (uint32_t t = 0; t < tails->n; t++) {
		struct code_place to = b->tails.items[tails->first + t];
		bool known = false;

		for (unsigned i = 0; i < *n; i++)
			known |= list[i].file == to.file && list[i].function == to.function;
		if (!known && *n < CODE_MODEL_TAILS)
			list[(*n)++] = to;
	}
}

/* `from` calls a function, and so, as it seems, what that ends with. For leaves it has a set of its
 * own if it is one. */
static int build_call_as(struct build *b, uint32_t from, uint32_t from_leaves, struct code_place to)
{
	struct code_place list[CODE_MODEL_TAILS] = {to};
	bool foreign = false, pointer = false;
	unsigned n = 1;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < n; i++) {
		struct code_place at = list[i];

		pointer |= (build_function(b, at)->flags & CODE_POINTER) != 0;
		r = callgraph_edge(b->graph, from, b->nodes[at.file][at.function]);
		if (r == 0 && b->leaves)
			r = callgraph_edge(b->graph, from_leaves, b->leaves[at.file][at.function]);
		build_tails(b, at, list, &n, &foreign);
	}
	if (r == 0 && pointer && from != b->pointer)
		r = build_pointer(b, from);
	return r == 0 && foreign ? build_foreign(b, from) : r;
}

static int build_call(struct build *b, uint32_t from, struct code_place to)
{
	return build_call_as(b, from, from, to);
}

static int build_called(struct build *b, uint32_t from, uint32_t file, const struct code_call *call)
{
	struct code_place to;

	if (call->kind == CODE_CALL_POINTER)
		return build_pointer(b, from);
	if (!build_target(b, file, call, &to))
		return build_foreign(b, from);
	return build_call(b, from, to);
}

/* --- the graph of functions ---------------------------------------------------------------- */

static int build_function_node(struct build *b, uint32_t file, uint32_t function)
{
	const struct code_file *f = &b->model->files.items[file];
	const struct code_function *fn = &f->scan.functions[function];
	uint32_t node;
	int r;

	if (fn->part_of != function)
		return 0;
	r = build_node(b, f, function, fn->start, true, &node);
	if (r < 0)
		return r;
	b->nodes[file][function] = node;
	if (fn->flags & (CODE_MAIN | CODE_FIRST))
		callgraph_set_root(b->graph, node);
	if (fn->flags & CODE_PUBLIC) {
		callgraph_set_public(b->graph, node);
		r = callgraph_edge(b->graph, b->public, node);
	}
	if (fn->flags & CODE_TAKEN)
		callgraph_set_entry(b->graph, node);
	return r;
}

/* What a pointer can reach. */
static int build_taken(struct build *b, uint32_t file, uint32_t function)
{
	struct code_place place = {file, function};
	int r;

	if (!(build_function(b, place)->flags & CODE_TAKEN) ||
	    build_function(b, place)->part_of != function)
		return 0;
	r = build_call_as(b, b->pointer, b->pointer_leaves, place);
	return r < 0 || b->leaves ? r : build_call(b, b->foreign, place);
}

/* The calls of a function, its own or those of a part of it. What is inlined in it (and seems to be
 * called by it) may be what makes them. */
static int build_function_calls(struct build *b, uint32_t file, uint32_t function)
{
	const struct code_scan *scan = &b->model->files.items[file].scan;
	uint32_t end = build_calls_end(scan, function), first;
	uint32_t node = b->nodes[file][scan->functions[function].part_of];
	int r = 0;

	first = scan->functions[function].first_call;
	for (uint32_t c = first; r == 0 && c < end; c++) {
		uint32_t inlined;

		if (!scan->calls[c].is_jump)
			r = build_called(b, node, file, &scan->calls[c]);
		if (scan->calls[c].kind != CODE_CALL_INLINED)
			continue;
		inlined = b->nodes[file][scan->functions[scan->calls[c].target].part_of];
		for (uint32_t k = first; r == 0 && k < end && k < first + CODE_MODEL_INLINED; k++)
			if (k != c && !scan->calls[k].is_jump)
				r = build_called(b, inlined, file, &scan->calls[k]);
	}
	return r;
}

typedef int (*code_build_step)(struct build *b, uint32_t file, uint32_t function);

/* One step after the other, each for all functions. */
static int build_steps(struct build *b, const code_build_step *steps, size_t n)
{
	int r = 0;

	for (size_t step = 0; step < n; step++)
		for (uint32_t i = 0; r == 0 && i < b->model->files.count; i++) {
			size_t functions = b->model->files.items[i].scan.n_functions;

			for (uint32_t f = 0; build_is_in(b, i) && r == 0 && f < functions; f++)
				r = steps[step](b, i, f);
		}
	return r;
}

static int build_functions(struct build *b)
{
	static const code_build_step steps[] = {build_function_node, build_tails_of, build_taken,
						build_function_calls};
	int r = build_set(b, CODE_SET_POINTER, NULL, 0, "[pointer]", &b->pointer);

	if (r == 0)
		r = build_set(b, CODE_SET_FOREIGN, NULL, 0, "[callback]", &b->foreign);
	if (r == 0)
		r = build_set(b, CODE_SET_PUBLIC, NULL, 0, "[public]", &b->public);
	if (r < 0)
		return r;
	callgraph_set_unlikely(b->graph, b->foreign, CODE_MODEL_FOREIGN_BITS);
	callgraph_set_unlikely(b->graph, b->public, CODE_MODEL_PUBLIC_BITS);
	return build_steps(b, steps, sizeof(steps) / sizeof(*steps));
}

/* --- the graph of places ------------------------------------------------------------------- */

struct build_leaf {
	struct build *b;
	uint32_t file, function;
};

static int build_leaf(void *arg, uint64_t vaddr)
{
	struct build_leaf *leaf = arg;
	struct build *b = leaf->b;
	const struct code_file *f = &b->model->files.items[leaf->file];
	uint32_t whole = f->scan.functions[leaf->function].part_of, node;
	uint32_t known = callgraph_count(b->graph);
	int r = build_node(b, f, leaf->function, vaddr, false, &node);

	if (r < 0)
		return r;
	if (node >= known)
		callgraph_set_leaf(b->graph, node);
	return callgraph_edge(b->graph, b->leaves[leaf->file][whole], node);
}

/* The sets of a function, and where they belong. */
static int build_sets(struct build *b, uint32_t file, uint32_t function)
{
	const struct code_file *f = &b->model->files.items[file];
	int r;

	if (f->scan.functions[function].part_of != function)
		return 0;
	r = build_set(b, CODE_SET_SITES, f, function, "[sites]", &b->nodes[file][function]);
	if (r == 0)
		r = build_set(b, CODE_SET_LEAVES, f, function, "[leaves]",
			      &b->leaves[file][function]);
	if (r < 0)
		return r;
	callgraph_set_unlikely(b->graph, b->leaves[file][function], CODE_MODEL_LEAF_BITS);
	return 0;
}

static int build_sites(struct build *b, uint32_t file, uint32_t function)
{
	const struct code_file *f = &b->model->files.items[file];
	const struct code_scan *scan = &f->scan;
	uint32_t whole = scan->functions[function].part_of, node;
	uint32_t end = build_calls_end(scan, function);
	int r = 0;

	for (uint32_t c = scan->functions[function].first_call; r == 0 && c < end; c++) {
		if (scan->calls[c].is_jump || scan->calls[c].kind == CODE_CALL_INLINED)
			continue;
		r = build_node(b, f, function, scan->calls[c].last, false, &node);
		if (r == 0)
			r = callgraph_edge(b->graph, b->nodes[file][whole], node);
		if (r == 0)
			r = build_called(b, node, file, &scan->calls[c]);
		if (r == 0 && scan->functions[whole].flags & CODE_FIRST)
			callgraph_set_root(b->graph, node);
	}
	return r;
}

static int build_leaves_of(struct build *b, uint32_t file, uint32_t function)
{
	const struct code_file *f = &b->model->files.items[file];
	struct build_leaf leaf = {b, file, function};

	return code_scan_instructions(&f->scan, f->file, function, build_leaf, &leaf);
}

/* Calls through pointers in a function are likely to reach main; so are those in functions that it
 * calls, unless these are `deep` enough already. */
static int build_reaches_main(struct build *b, struct code_place place, uint32_t main,
			      unsigned deep)
{
	const struct code_file *f = &b->model->files.items[place.file];
	uint32_t end = build_calls_end(&f->scan, place.function), node;
	int r = 0;

	for (uint32_t c = build_function(b, place)->first_call; r == 0 && c < end; c++) {
		const struct code_call *call = &f->scan.calls[c];
		struct code_place to;

		if (call->kind == CODE_CALL_POINTER) {
			r = build_node(b, f, place.function, call->last, false, &node);
			if (r == 0)
				r = callgraph_edge(b->graph, node, main);
		} else if (deep && call->kind == CODE_CALL_FUNCTION && !call->is_jump &&
			   build_target(b, place.file, call, &to)) {
			r = build_reaches_main(b, to, main, deep - 1);
		}
	}
	return r;
}

/* The entry point calls the C library's start, which calls main: by a pointer, but nearly always.
 */
static int build_start(struct build *b, uint32_t file, uint32_t function)
{
	const struct code_scan *scan = &b->model->files.items[file].scan;
	uint32_t main = CODE_SCAN_NONE, end = build_calls_end(scan, function);
	int r = 0;

	if (!(scan->functions[function].flags & CODE_FIRST))
		return 0;
	for (uint32_t f = 0; f < scan->n_functions; f++)
		if (scan->functions[f].flags & CODE_MAIN)
			main = f;
	for (uint32_t c = scan->functions[function].first_call;
	     main != CODE_SCAN_NONE && r == 0 && c < end; c++) {
		struct code_place to;

		if (scan->calls[c].kind != CODE_CALL_POINTER &&
		    build_target(b, file, &scan->calls[c], &to))
			r = build_reaches_main(b, to, b->nodes[file][main], 1);
	}
	return r;
}

static int build_places(struct build *b)
{
	static const code_build_step steps[] = {build_sets,  build_tails_of, build_taken,
						build_sites, build_start,    build_leaves_of};
	int r = build_set(b, CODE_SET_POINTER, NULL, 0, "[pointer]", &b->pointer);

	if (r == 0)
		r = build_set(b, CODE_SET_POINTER_LEAVES, NULL, 0, "[pointer]", &b->pointer_leaves);
	if (r == 0)
		callgraph_set_unlikely(b->graph, b->pointer_leaves, CODE_MODEL_LEAF_BITS);
	return r < 0 ? r : build_steps(b, steps, sizeof(steps) / sizeof(*steps));
}

/* --- building ------------------------------------------------------------------------------ */

static void build_release(struct build *b)
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

/* An array for each file, with room for each function; NULL for lack of memory. */
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

static int build(const struct code_model *model, struct callgraph *graph, bool places)
{
	struct build b = {.model = model, .graph = graph};
	int r = 0;

	b.only_hooked = !places && code_model_has_hooks(model);
	b.nodes = build_table(model, sizeof(**b.nodes));
	b.leaves = places ? build_table(model, sizeof(**b.leaves)) : NULL;
	b.tails_of = build_table(model, sizeof(**b.tails_of));
	if (!b.nodes || !b.tails_of || (places && !b.leaves))
		r = -ENOMEM;
	if (r == 0)
		r = build_exports(&b);
	if (r == 0)
		r = places ? build_places(&b) : build_functions(&b);
	build_release(&b);
	return r;
}

int code_model_places(const struct code_model *model, struct callgraph *graph)
{
	return build(model, graph, true);
}

int code_model_functions(const struct code_model *model, struct callgraph *graph)
{
	return build(model, graph, false);
}
