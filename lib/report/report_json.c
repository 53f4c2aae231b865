/* SPDX-License-Identifier: MIT */
/*
 * The report as JSON, one object:
 *
 *   "schema": 1, the members of the header (recording, host, kernel, ..., samples, lost, quality)
 *   "view": "tree" | "flat" | "callers",  "percent_limit": number
 *   "processes": [ largest first
 *     { "pid", "parent", "comm", "exe", "samples",
 *       "hidden_processes" is a member of the top object: processes below the limit
 *       tree, callers:  "nodes": [ {"parent": index or -1, "symbol", "inlined", "total", "self",
 *                                "reconstructed"} ]
 *       flat:           "functions": [ {"symbol", "self", "total", "reconstructed"} ]
 *       "hidden": {"rows", "samples"}: the rows below the limit
 *       "cut": true where the tree of callers was too large to be complete } ]
 *   "symbols": [ {"name", "object", "kernel", "mark", "unnamed"} ], which "symbol" is an index of
 *
 * A tree is a list in which a parent comes before its children: a recording's paths are deeper
 * than the nesting that JSON readers accept. In a tree, "self" are samples that end in the node;
 * in callers, those whose path begins there. The members are described in docs/JSON.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/calltree.h"
#include "report/flat.h"
#include "report/groups.h"
#include "report/report.h"
#include "report/report_header.h"
#include "report/treeview.h"

#define REPORT_JSON_CALLER_LEVELS 512
#define REPORT_JSON_CALLER_NODES  (2u << 20)
#define REPORT_JSON_CHUNK	  65536 /* bytes after which the buffer is written out */

struct report_json {
	struct profile *profile;
	const struct report_options *options;
	FILE *out;
	struct buf b;
	struct calltree *tree, *callers;
	uint64_t whole;
};

static int report_json_drain(struct report_json *json, size_t least)
{
	return json->b.len >= least || json->b.failed ? text_flush(&json->b, json->out) : 0;
}

static void report_json_hidden(struct report_json *json, uint32_t rows, uint64_t samples)
{
	text_printf(&json->b, ",\"hidden\":{\"rows\":%u,\"samples\":%" PRIu64 "}", rows, samples);
}

/* A child's samples are never more than its parent's: what is hidden hides all below it. Of
 * hidden rows only the topmost are counted. `shown` maps nodes to their index in the output. */
static int report_json_node_list(struct report_json *json, const struct calltree *tree,
				 uint32_t *shown)
{
	uint32_t n, n_shown = 0, n_hidden = 0;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	uint64_t hidden = 0;
	int r = 0;

	text_put_raw(&json->b, ",\"nodes\":[");
	for (uint32_t i = 1; r == 0 && i < n; i++) {
		uint32_t up = nodes[i].parent;

		shown[i] = CALLTREE_NONE;
		if (up && shown[up] == CALLTREE_NONE)
			continue;
		if (treeview_is_small(nodes[i].samples, json->whole, json->options)) {
			n_hidden++;
			hidden += nodes[i].samples;
			continue;
		}
		text_printf(&json->b,
			    "%s\n{\"parent\":%" PRId64
			    ",\"symbol\":%u,\"inlined\":%s,\"total\":%" PRIu64 ",\"self\":%" PRIu64
			    ",\"reconstructed\":%" PRIu64 "}",
			    n_shown ? "," : "", up ? (int64_t)shown[up] : -1, nodes[i].symbol,
			    nodes[i].is_inlined ? "true" : "false", nodes[i].samples, nodes[i].self,
			    nodes[i].inferred);
		shown[i] = n_shown++;
		r = report_json_drain(json, REPORT_JSON_CHUNK);
	}
	text_put_raw(&json->b, "]");
	report_json_hidden(json, n_hidden, hidden);
	return r;
}

static int report_json_nodes(struct report_json *json, const struct calltree *tree)
{
	uint32_t n, *shown;
	int r;

	calltree_nodes(tree, &n);
	shown = calloc(n, sizeof(*shown));
	if (!shown)
		return -ENOMEM;
	r = report_json_node_list(json, tree, shown);
	free(shown);
	return r;
}

static int report_json_functions(struct report_json *json)
{
	struct flat flat = {0};
	uint32_t n_hidden = 0;
	uint64_t hidden = 0;
	const char *before = "";
	int r = flat_make(json->profile, json->tree, &flat);

	if (r < 0)
		return r;
	text_put_raw(&json->b, ",\"functions\":[");
	for (uint32_t i = 0; i < flat.n; i++) {
		const struct flat_row *row = &flat.rows[i];

		if (treeview_is_small(row->total, json->whole, json->options)) {
			n_hidden++;
			hidden += row->self;
			continue;
		}
		text_printf(&json->b,
			    "%s\n{\"symbol\":%u,\"self\":%" PRIu64 ",\"total\":%" PRIu64
			    ",\"reconstructed\":%" PRIu64 "}",
			    before, row->symbol, row->self, row->total, row->inferred);
		before = ",";
	}
	text_put_raw(&json->b, "]");
	report_json_hidden(json, n_hidden, hidden);
	flat_free(&flat);
	return 0;
}

static int report_json_callers(struct report_json *json)
{
	struct calltree_limits limits = {json->options->percent_limit, REPORT_JSON_CALLER_LEVELS,
					 REPORT_JSON_CALLER_NODES};
	bool is_cut = false;
	int r;

	calltree_clear(json->callers);
	r = calltree_invert(json->tree, &limits, json->callers, &is_cut);
	if (r == 0)
		r = report_json_nodes(json, json->callers);
	text_printf(&json->b, ",\"cut\":%s", is_cut ? "true" : "false");
	return r;
}

static int report_json_view(struct report_json *json)
{
	switch (json->options->view) {
	case REPORT_FLAT:
		return report_json_functions(json);
	case REPORT_CALLERS:
		return report_json_callers(json);
	case REPORT_TREE:
		break;
	}
	return report_json_nodes(json, json->tree);
}

static int report_json_process(struct report_json *json, const struct groups *groups,
			       uint32_t number)
{
	const struct store_process *process = &profile_tables(json->profile)->processes[number];
	size_t n;
	const struct profile_entry *entries = profile_entries(json->profile, &n);
	int r = 0;

	json->whole = groups->samples[number];
	text_printf(&json->b, "\n{\"pid\":%d,\"parent\":%d,\"comm\":", process->pid,
		    process->parent);
	text_put_json(&json->b, process->comm ? process->comm : "");
	text_put_raw(&json->b, ",\"exe\":");
	text_put_json(&json->b, process->exe ? process->exe : "");
	text_printf(&json->b, ",\"samples\":%" PRIu64, json->whole);
	calltree_clear(json->tree);
	for (uint32_t i = groups->first[number]; r == 0 && i < groups->first[number + 1]; i++) {
		const struct profile_entry *e = &entries[groups->order[i]];

		r = calltree_add(json->tree, e);
	}
	calltree_sum(json->tree);
	if (r == 0)
		r = report_json_view(json);
	text_put_raw(&json->b, "}");
	return r;
}

static int report_json_processes(struct report_json *json, const struct groups *groups)
{
	uint64_t hidden = 0, all = profile_totals(json->profile)->samples;
	uint32_t i = 0;
	int r = 0;

	text_put_raw(&json->b, ",\"processes\":[");
	for (; r == 0 && i < groups->n_ranking; i++) {
		if (treeview_is_small(groups->samples[groups->ranking[i]], all, json->options))
			break;
		text_put_raw(&json->b, i ? "," : "");
		r = report_json_process(json, groups, groups->ranking[i]);
	}
	for (uint32_t at = i; at < groups->n_ranking; at++)
		hidden += groups->samples[groups->ranking[at]];
	text_printf(&json->b, "],\"hidden_processes\":{\"processes\":%u,\"samples\":%" PRIu64 "}",
		    groups->n_ranking - i, hidden);
	return r;
}

static int report_json_symbols(struct report_json *json)
{
	size_t n = profile_symbol_count(json->profile);
	int r = 0;

	text_put_raw(&json->b, ",\"symbols\":[");
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct profile_symbol *symbol = profile_symbol_at(json->profile, (uint32_t)i);

		text_put_raw(&json->b, i ? ",\n{\"name\":" : "\n{\"name\":");
		text_put_json(&json->b, symbol->name);
		text_put_raw(&json->b, ",\"object\":");
		text_put_json(&json->b, symbol->object);
		text_printf(&json->b, ",\"kernel\":%s,\"mark\":%s,\"unnamed\":%s}",
			    symbol->is_kernel ? "true" : "false",
			    symbol->is_mark ? "true" : "false",
			    symbol->is_unnamed ? "true" : "false");
		r = report_json_drain(json, REPORT_JSON_CHUNK);
	}
	text_put_raw(&json->b, "]}\n");
	return r;
}

static int report_json_write(struct report_json *json, const struct groups *groups)
{
	static const char *const views[] = {
		[REPORT_TREE] = "tree", [REPORT_FLAT] = "flat", [REPORT_CALLERS] = "callers"};
	int r;

	text_put_raw(&json->b, "{\"schema\":1,");
	report_header_json(json->profile, &json->b);
	text_printf(&json->b, ",\"view\":\"%s\",\"percent_limit\":%g", views[json->options->view],
		    json->options->percent_limit);
	r = report_json_processes(json, groups);
	if (r == 0)
		r = report_json_symbols(json);
	if (r == 0)
		r = report_json_drain(json, 0);
	if (r == 0 && fflush(json->out) != 0)
		r = -EIO;
	return r;
}

int report_write_json(struct profile *profile, const struct report_options *options, FILE *out)
{
	struct report_json json = {.profile = profile, .options = options, .out = out};
	struct groups groups = {0};
	int r = groups_by_process(profile, &groups);

	if (r == 0)
		r = calltree_new(profile, CALLTREE_BY_SYMBOL, &json.tree);
	if (r == 0)
		r = calltree_new(profile, CALLTREE_BY_SYMBOL, &json.callers);
	if (r == 0)
		r = report_json_write(&json, &groups);
	groups_free(&groups);
	calltree_free(json.tree);
	calltree_free(json.callers);
	buf_free(&json.b);
	return r;
}
