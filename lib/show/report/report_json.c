/* SPDX-License-Identifier: MIT */
/*
 * The report as JSON, one object:
 *
 *   "schema": 1, the members of the header (recording, host, kernel, ..., samples, lost, quality)
 *   "view": "tree" | "flat" | "callers" | "around" | "time",  "percent_limit": number, "by": ...
 *   "processes" (by process) or "parts": [ largest first
 *     { "pid", "parent", "comm", "exe" or another key of the part, "samples",
 *       "hidden_processes" is a member of the top object: parts below the limit
 *       tree, callers:  "nodes": [ {"parent": index or -1, "symbol", "inlined", "total", "self",
 *                                "reconstructed"} ]
 *       flat:           "functions": [ {"symbol", "self", "total", "reconstructed"} ]
 *       around:         "total", "self", "callers": {as callers}, "callees": {as tree}
 *       time:           "bins": [ {"samples", "symbol": index or null, "symbol_samples"} ]
 *       "hidden": {"rows", "samples"}: the rows below the limit
 *       "cut": true where the tree of callers was too large to be complete } ]
 *   "symbols": [ {"name", "object", "kind", "kernel", "mark", "unnamed"} ], which "symbol" is an
 * index of
 *
 * A tree is a list in which a parent comes before its children: a recording's paths are deeper
 * than the nesting that JSON readers accept. In a tree, "self" are samples that end in the node;
 * in callers, those whose path begins there. The members are described in docs/JSON.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/frame_kind.h"
#include "tree/flat.h"
#include "tree/histogram.h"
#include "report/report.h"
#include "report/region_view.h"
#include "report/report_header.h"
#include "report/report_view.h"
#include "report/treeview.h"
#include "report/wait_view.h"
#include "report/waker_view.h"

struct report_json {
	struct report_view_state view;
	const struct report_options *options;
	struct json json;
};

static void write_hidden(struct json *j, const char *key, const char *what, uint32_t n,
			 uint64_t samples)
{
	json_put_object(j, key);
	json_put_uint(j, what, n);
	json_put_uint(j, "samples", samples);
	json_put_end(j);
}

static void write_sources(struct json *j, const struct frame_source_counts *counts)
{
	json_put_object(j, "sources");
	for (unsigned i = 0; i < FRAME_SOURCE_COUNT; i++)
		json_put_uint(j, frame_source_name((uint8_t)i), counts->by[i]);
	json_put_uint(j, "unverified", counts->unsure);
	json_put_end(j);
	json_put_object(j, "provenances");
	for (unsigned i = 0; i < PROVENANCE_COUNT; i++)
		json_put_uint(j, provenance_name((uint8_t)i), counts->rules[i]);
	json_put_end(j);
}

static void write_ranks(struct json *j, const struct imbalance_node *node)
{
	json_put_object(j, "ranks");
	json_put_uint(j, "sum", node->sum);
	json_put_uint(j, "max", node->most);
	json_put_uint(j, "max_rank", node->rank);
	json_put_end(j);
}

/* Writes a node. `up` is the index of its parent in the output; -1: the parent is not in the
 * output. */
static void write_node(struct report_json *r, const struct calltree *tree, uint32_t number,
		       int64_t up)
{
	struct json *j = &r->json;
	uint32_t n;
	const struct calltree_node *node = &calltree_nodes(tree, &n)[number];

	json_put_line(j);
	json_put_object(j, NULL);
	json_put_int(j, "parent", up);
	json_put_uint(j, "symbol", node->symbol);
	json_put_bool(j, "inlined", node->is_inlined);
	json_put_uint(j, "total", node->samples);
	json_put_uint(j, "self", node->self);
	json_put_uint(j, "reconstructed", node->inferred);
	if (tree == r->view.tree && r->view.with_sources)
		write_sources(j, &r->view.sources.nodes[number]);
	if (tree == r->view.tree && r->view.imbalance.nodes)
		write_ranks(j, &r->view.imbalance.nodes[number]);
	json_put_end(j);
}

/* Writes the nodes of a tree. A child never has more samples than its parent, so all nodes below a
 * hidden node are hidden, too, and only the topmost hidden nodes are counted as hidden rows.
 * shown[i] becomes the index of node i in the output. */
static void write_node_list(struct report_json *r, const struct calltree *tree, uint64_t whole,
			    uint32_t *shown)
{
	uint32_t n, n_shown = 0, n_hidden = 0;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	uint64_t hidden = 0;

	json_put_array(&r->json, "nodes");
	for (uint32_t i = 1; !r->json.err && i < n; i++) {
		uint32_t up = nodes[i].parent;

		shown[i] = CALLTREE_NONE;
		if (up && shown[up] == CALLTREE_NONE)
			continue;
		if (treeview_is_small(nodes[i].samples, whole, r->options)) {
			n_hidden++;
			hidden += nodes[i].samples;
			continue;
		}
		write_node(r, tree, i, up ? (int64_t)shown[up] : -1);
		shown[i] = n_shown++;
	}
	json_put_end(&r->json);
	write_hidden(&r->json, "hidden", "rows", n_hidden, hidden);
}

static int write_nodes(struct report_json *r, const struct calltree *tree, uint64_t whole)
{
	uint32_t n, *shown;

	calltree_nodes(tree, &n);
	shown = calloc(n, sizeof(*shown));
	if (!shown)
		return -ENOMEM;
	write_node_list(r, tree, whole, shown);
	free(shown);
	return 0;
}

static int write_functions(struct report_json *r)
{
	struct json *j = &r->json;
	struct flat flat = {0};
	uint32_t n_hidden = 0;
	uint64_t hidden = 0;
	int err = flat_make(r->view.profile, r->view.tree, &flat);

	if (err < 0)
		return err;
	json_put_array(j, "functions");
	for (uint32_t i = 0; i < flat.n; i++) {
		const struct flat_row *row = &flat.rows[i];

		if (treeview_is_small(row->total, r->view.whole, r->options)) {
			n_hidden++;
			hidden += row->self;
			continue;
		}
		json_put_line(j);
		json_put_object(j, NULL);
		json_put_uint(j, "symbol", row->symbol);
		json_put_uint(j, "self", row->self);
		json_put_uint(j, "total", row->total);
		json_put_uint(j, "reconstructed", row->inferred);
		json_put_end(j);
	}
	json_put_end(j);
	write_hidden(j, "hidden", "rows", n_hidden, hidden);
	flat_free(&flat);
	return 0;
}

static int write_callers(struct report_json *r)
{
	bool is_cut = false;
	int err = report_view_callers(&r->view, r->options->percent_limit, &is_cut);

	if (err == 0)
		err = write_nodes(r, r->view.callers, r->view.whole);
	json_put_bool(&r->json, "cut", is_cut);
	return err;
}

static int write_around(struct report_json *r)
{
	struct report_view_around around;
	int err = report_view_around(&r->view, r->options, &around);

	if (err < 0)
		return err;
	json_put_uint(&r->json, "total", around.total);
	json_put_uint(&r->json, "self", around.self);
	json_put_object(&r->json, "callers");
	err = write_nodes(r, r->view.callers, around.total);
	json_put_bool(&r->json, "cut", around.is_cut);
	json_put_end(&r->json);
	json_put_object(&r->json, "callees");
	if (err == 0)
		err = write_nodes(r, r->view.callees, around.total);
	json_put_end(&r->json);
	return err;
}

static void write_time(struct report_json *r, const struct histogram *h, uint32_t part)
{
	struct json *j = &r->json;

	json_put_array(j, "bins");
	for (uint32_t i = 0; !j->err && i < h->n_bins; i++) {
		const struct histogram_bin *bin = &h->bins[(size_t)part * h->n_bins + i];

		json_put_line(j);
		json_put_object(j, NULL);
		json_put_uint(j, "samples", bin->samples);
		if (bin->samples)
			json_put_uint(j, "symbol", bin->symbol);
		else
			json_put_null(j, "symbol");
		json_put_uint(j, "symbol_samples", bin->samples ? bin->symbol_samples : 0);
		json_put_end(j);
	}
	json_put_end(j);
}

static int write_view(struct report_json *r, const struct histogram *h, uint32_t part)
{
	switch (r->options->view) {
	case REPORT_FLAT:
		return write_functions(r);
	case REPORT_CALLERS:
		return write_callers(r);
	case REPORT_AROUND:
		return write_around(r);
	case REPORT_REGIONS: /* These views have writers of their own. */
	case REPORT_WAKERS:
	case REPORT_WAITS:
		break;
	case REPORT_TIME:
		write_time(r, h, part);
		return 0;
	case REPORT_TREE:
		break;
	}
	return write_nodes(r, r->view.tree, r->view.whole);
}

static int write_part(struct report_json *r, const struct histogram *h, uint32_t part)
{
	int err = report_view_begin(&r->view, part, r->options->view != REPORT_TIME, NULL);

	if (err < 0 || !report_view_has(&r->view, r->options))
		return err;
	json_put_line(&r->json);
	json_put_object(&r->json, NULL);
	partition_json(&r->view.partition, part, &r->json);
	json_put_uint(&r->json, "samples", r->view.whole);
	err = write_view(r, h, part);
	json_put_end(&r->json);
	return err;
}

static int write_parts(struct report_json *r, const struct histogram *h)
{
	const struct groups *groups = &r->view.partition.groups;
	const bool by_process = r->options->by == PARTITION_BY_PROCESS;
	const char *parts = by_process ? "processes" : "parts";
	uint64_t hidden = 0, all = profile_total(r->view.profile);
	uint32_t i = 0;
	int err = 0;

	json_put_array(&r->json, parts);
	for (; err == 0 && i < groups->n_ranking; i++) {
		if (treeview_is_small(groups->samples[groups->ranking[i]], all, r->options))
			break;
		err = write_part(r, h, groups->ranking[i]);
	}
	json_put_end(&r->json);
	for (uint32_t at = i; at < groups->n_ranking; at++)
		hidden += groups->samples[groups->ranking[at]];
	write_hidden(&r->json, by_process ? "hidden_processes" : "hidden_parts", parts,
		     groups->n_ranking - i, hidden);
	return err;
}

void report_json_symbol(const struct profile_symbol *symbol, struct json *j)
{
	json_put_line(j);
	json_put_object(j, NULL);
	json_put_string(j, "name", symbol->name);
	json_put_string(j, "object", symbol->object);
	json_put_string(j, "kind", frame_kind_name(symbol->kind));
	json_put_bool(j, "kernel", symbol->is_kernel);
	json_put_bool(j, "mark", symbol->is_mark);
	json_put_bool(j, "unnamed", symbol->is_unnamed);
	json_put_end(j);
}

static void write_symbols(struct report_json *r)
{
	size_t n = profile_symbol_count(r->view.profile);

	json_put_array(&r->json, "symbols");
	for (size_t i = 0; !r->json.err && i < n; i++)
		report_json_symbol(profile_symbol_at(r->view.profile, (uint32_t)i), &r->json);
	json_put_end(&r->json);
}

/* Writes the options of the report: view, limit and grouping. */
static void write_options(struct report_json *r, const struct histogram *h)
{
	static const char *const views[] = {
		[REPORT_TREE] = "tree",	    [REPORT_FLAT] = "flat", [REPORT_CALLERS] = "callers",
		[REPORT_AROUND] = "around", [REPORT_TIME] = "time",
	};
	struct json *j = &r->json;

	json_put_string(j, "view", views[r->options->view]);
	json_put_double(j, "percent_limit", r->options->percent_limit, 6);
	json_put_string(j, "by", partition_word(r->options->by));
	if (r->options->view == REPORT_AROUND)
		json_put_string(j, "around", r->options->around);
	if (r->options->view == REPORT_TIME) {
		json_put_uint(j, "from_ns", h->from_ns);
		json_put_uint(j, "step_ns", h->step_ns);
	}
}

static int write_report(struct report_json *r, const struct histogram *h)
{
	int err;

	report_header_begin_json(r->view.profile, &r->json);
	write_options(r, h);
	err = write_parts(r, h);
	if (err == 0)
		write_symbols(r);
	return err;
}

int report_write_json(struct profile *profile, const struct report_options *options, FILE *out)
{
	struct report_json r = {.options = options, .json = {.out = out}};
	struct histogram histogram = {0};
	int err;

	if (options->view == REPORT_REGIONS)
		return region_view_json(profile, options, out);
	if (options->view == REPORT_WAKERS)
		return waker_view_json(profile, out);
	if (options->view == REPORT_WAITS)
		return wait_view_json(profile, options, out);
	err = report_view_new(profile, options, &r.view);
	if (err == 0 && options->view == REPORT_TIME)
		err = histogram_make(&r.view.partition, options->n_bins, &histogram);
	if (err == 0)
		err = write_report(&r, &histogram);
	histogram_free(&histogram);
	report_view_free(&r.view);
	return json_put_finish(&r.json, err);
}
