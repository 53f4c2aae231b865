/* SPDX-License-Identifier: MIT */
/*
 * The targets of calls; see code_graph.h.
 *
 * Tail calls are resolved at the caller: it calls f, and the targets of f's tail calls, and so on,
 * up to CODE_GRAPH_TAILS functions.
 */
#include <errno.h>

#include "callgraph/code_graph_state.h"

/* --- exports ------------------------------------------------------------------------------- */

static int build_export(struct code_graph *b, const char *name, struct code_ref ref)
{
	uint32_t number;
	int err = strings_intern(b->names, name, &number);

	if (err < 0 || number < b->exports.count)
		return err; /* an earlier file exports it */
	err = VEC_RESERVE(&b->exports, 1);
	if (err == 0)
		b->exports.items[b->exports.count++] = ref;
	return err;
}

int code_graph_calls_read_exports(struct code_graph *b)
{
	int err = strings_new(&b->names);

	for (uint32_t i = 0; err == 0 && i < b->model->files.count; i++) {
		const struct code_scan *scan = &b->model->files.items[i].scan;

		for (size_t e = 0; err == 0 && code_graph_is_in(b, i) && e < scan->n_exports; e++)
			err = build_export(b, strings_at(scan->names, scan->exports[e].name),
					   (struct code_ref){i, scan->exports[e].function});
	}
	return err;
}

bool code_graph_calls_target(struct code_graph *b, uint32_t file, const struct code_call *call,
			     struct code_ref *ret_to)
{
	const struct code_scan *scan = &b->model->files.items[file].scan;
	uint32_t number;

	if (call->kind != CODE_CALL_IMPORT) {
		*ret_to = (struct code_ref){file, scan->functions[call->target].part_of};
		return true;
	}
	if (strings_intern(b->names, strings_at(scan->names, call->target), &number) < 0)
		return false;
	if (number >= b->exports.count) {
		/* The name is new, so no file exports it; the next lookup finds this entry. */
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

/* Adds the callbacks of a call of unknown code. In the graph of locations there are none, since the
 * unknown code would be part of the chain. */
static int build_foreign(struct code_graph *b, uint32_t from)
{
	int err = 0;

	if (!b->leaves)
		err = callgraph_edge(b->graph, from, b->foreign);
	return err < 0 || b->leaves ? err : callgraph_edge(b->graph, from, b->public);
}

int code_graph_calls_read_tails(struct code_graph *b, uint32_t file, uint32_t function)
{
	const struct code_scan *scan = &b->model->files.items[file].scan;
	struct code_tails *tails = &b->tails_of[file][function];
	uint32_t end = code_graph_calls_end(scan, function);

	tails->first = (uint32_t)b->tails.count;
	for (uint32_t c = scan->functions[function].first_call; c < end; c++) {
		struct code_ref to;

		if (!scan->calls[c].is_jump)
			continue;
		if (!code_graph_calls_target(b, file, &scan->calls[c], &to)) {
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

/* Adds the targets of a function's tail calls to the list, each of them once. */
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

int code_graph_calls_add_as(struct code_graph *b, uint32_t from, uint32_t from_leaves,
			    struct code_ref to)
{
	struct code_ref list[CODE_GRAPH_TAILS] = {to};
	bool foreign = false, pointer = false;
	unsigned n = 1;
	int err = 0;

	for (unsigned i = 0; err == 0 && i < n; i++) {
		struct code_ref at = list[i];

		pointer |= (code_graph_function(b, at)->flags & CODE_POINTER) != 0;
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

int code_graph_calls_add_to(struct code_graph *b, uint32_t from, struct code_ref to)
{
	return code_graph_calls_add_as(b, from, from, to);
}

int code_graph_calls_add(struct code_graph *b, uint32_t from, uint32_t file,
			 const struct code_call *call)
{
	struct code_ref to;

	if (call->kind == CODE_CALL_POINTER)
		return build_pointer(b, from);
	if (!code_graph_calls_target(b, file, call, &to))
		return build_foreign(b, from);
	return code_graph_calls_add_to(b, from, to);
}
