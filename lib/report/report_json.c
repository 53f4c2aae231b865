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
 *   "symbols": [ {"name", "object", "kernel", "mark", "unnamed"} ], which "symbol" is an index of
 *
 * A tree is a list in which a parent comes before its children: a recording's paths are deeper
 * than the nesting that JSON readers accept. In a tree, "self" are samples that end in the node;
 * in callers, those whose path begins there. The members are described in docs/JSON.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tree/flat.h"
#include "tree/histogram.h"
#include "report/report.h"
#include "report/region_view.h"
#include "report/report_header.h"
#include "report/report_view.h"
#include "report/treeview.h"
#include "report/wait_view.h"
#include "report/waker_view.h"

#define REPORT_JSON_CHUNK 65536 /* bytes after which the buffer is written out */

struct report_json {
	struct report_view_state view;
	const struct report_options *options;
	FILE *out;
	struct buf b;
};

static int drain(struct report_json *json, size_t least)
{
	return json->b.len >= least || json->b.failed ? text_flush(&json->b, json->out) : 0;
}

static void report_json_hidden(struct report_json *json, uint32_t rows, uint64_t samples)
{
	text_printf(&json->b, ",\"hidden\":{\"rows\":%u,\"samples\":%" PRIu64 "}", rows, samples);
}

static void report_json_sources(struct report_json *json, const struct frame_source_counts *counts)
{
	text_put_raw(&json->b, ",\"sources\":{");
	for (unsigned i = 0; i < FRAME_SOURCE_COUNT; i++)
		text_printf(&json->b, "\"%s\":%" PRIu64 ",", frame_source_name((uint8_t)i),
			    counts->by[i]);
	text_printf(&json->b, "\"unverified\":%" PRIu64 "},\"provenances\":{", counts->unsure);
	for (unsigned i = 0; i < PROVENANCE_COUNT; i++)
		text_printf(&json->b, "%s\"%s\":%" PRIu64, i ? "," : "",
			    provenance_name((uint8_t)i), counts->rules[i]);
	text_put_raw(&json->b, "}");
}

static void report_json_imbalance(struct report_json *json, const struct imbalance_node *node)
{
	text_printf(&json->b,
		    ",\"ranks\":{\"sum\":%" PRIu64 ",\"max\":%" PRIu64 ",\"max_rank\":%" PRIu32 "}",
		    node->sum, node->most, node->rank);
}

/* What a node has beside its counts: those of a part's own tree. */
static void report_json_more(struct report_json *json, const struct calltree *tree, uint32_t node)
{
	if (tree != json->view.tree)
		return;
	if (json->view.with_sources)
		report_json_sources(json, &json->view.sources.nodes[node]);
	if (json->view.imbalance.nodes)
		report_json_imbalance(json, &json->view.imbalance.nodes[node]);
}

/* A child's samples are never more than its parent's: what is hidden hides all below it. Of
 * hidden rows only the topmost are counted. `shown` maps nodes to their index in the output. */
static int node_list(struct report_json *json, const struct calltree *tree, uint64_t whole,
		     uint32_t *shown)
{
	uint32_t n, n_shown = 0, n_hidden = 0;
	const struct calltree_node *nodes = calltree_nodes(tree, &n);
	uint64_t hidden = 0;
	int err = 0;

	text_put_raw(&json->b, "\"nodes\":[");
	for (uint32_t i = 1; err == 0 && i < n; i++) {
		uint32_t up = nodes[i].parent;

		shown[i] = CALLTREE_NONE;
		if (up && shown[up] == CALLTREE_NONE)
			continue;
		if (treeview_is_small(nodes[i].samples, whole, json->options)) {
			n_hidden++;
			hidden += nodes[i].samples;
			continue;
		}
		text_printf(&json->b,
			    "%s\n{\"parent\":%" PRId64
			    ",\"symbol\":%u,\"inlined\":%s,\"total\":%" PRIu64 ",\"self\":%" PRIu64
			    ",\"reconstructed\":%" PRIu64,
			    n_shown ? "," : "", up ? (int64_t)shown[up] : -1, nodes[i].symbol,
			    nodes[i].is_inlined ? "true" : "false", nodes[i].samples, nodes[i].self,
			    nodes[i].inferred);
		report_json_more(json, tree, i);
		text_put_raw(&json->b, "}");
		shown[i] = n_shown++;
		err = drain(json, REPORT_JSON_CHUNK);
	}
	text_put_raw(&json->b, "]");
	report_json_hidden(json, n_hidden, hidden);
	return err;
}

static int report_json_nodes(struct report_json *json, const struct calltree *tree, uint64_t whole)
{
	uint32_t n, *shown;
	int err;

	calltree_nodes(tree, &n);
	shown = calloc(n, sizeof(*shown));
	if (!shown)
		return -ENOMEM;
	err = node_list(json, tree, whole, shown);
	free(shown);
	return err;
}

static int report_json_functions(struct report_json *json)
{
	struct flat flat = {0};
	uint32_t n_hidden = 0;
	uint64_t hidden = 0;
	const char *before = "";
	int err = flat_make(json->view.profile, json->view.tree, &flat);

	if (err < 0)
		return err;
	text_put_raw(&json->b, "\"functions\":[");
	for (uint32_t i = 0; i < flat.n; i++) {
		const struct flat_row *row = &flat.rows[i];

		if (treeview_is_small(row->total, json->view.whole, json->options)) {
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
	bool is_cut = false;
	int err = report_view_callers(&json->view, json->options->percent_limit, &is_cut);

	if (err == 0)
		err = report_json_nodes(json, json->view.callers, json->view.whole);
	text_printf(&json->b, ",\"cut\":%s", is_cut ? "true" : "false");
	return err;
}

static int report_json_around(struct report_json *json)
{
	struct report_view_around around;
	int err = report_view_around(&json->view, json->options, &around);

	if (err < 0)
		return err;
	text_printf(&json->b, "\"total\":%" PRIu64 ",\"self\":%" PRIu64 ",\"callers\":{",
		    around.total, around.self);
	err = report_json_nodes(json, json->view.callers, around.total);
	text_printf(&json->b, ",\"cut\":%s},\"callees\":{", around.is_cut ? "true" : "false");
	if (err == 0)
		err = report_json_nodes(json, json->view.callees, around.total);
	text_put_raw(&json->b, "}");
	return err;
}

static int report_json_time(struct report_json *json, const struct histogram *h, uint32_t part)
{
	int err = 0;

	text_put_raw(&json->b, "\"bins\":[");
	for (uint32_t i = 0; err == 0 && i < h->n_bins; i++) {
		const struct histogram_bin *bin = &h->bins[(size_t)part * h->n_bins + i];

		text_printf(&json->b, "%s\n{\"samples\":%" PRIu64 ",\"symbol\":", i ? "," : "",
			    bin->samples);
		if (bin->samples)
			text_printf(&json->b, "%u,\"symbol_samples\":%" PRIu64 "}", bin->symbol,
				    bin->symbol_samples);
		else
			text_put_raw(&json->b, "null,\"symbol_samples\":0}");
		err = drain(json, REPORT_JSON_CHUNK);
	}
	text_put_raw(&json->b, "]");
	return err;
}

static int report_json_view(struct report_json *json, const struct histogram *h, uint32_t part)
{
	switch (json->options->view) {
	case REPORT_FLAT:
		return report_json_functions(json);
	case REPORT_CALLERS:
		return report_json_callers(json);
	case REPORT_AROUND:
		return report_json_around(json);
	case REPORT_REGIONS: /* have writers of their own */
	case REPORT_WAKERS:
	case REPORT_WAITS:
		break;
	case REPORT_TIME:
		return report_json_time(json, h, part);
	case REPORT_TREE:
		break;
	}
	return report_json_nodes(json, json->view.tree, json->view.whole);
}

/* `n` is how many parts were written before. */
static int report_json_part(struct report_json *json, const struct histogram *h, uint32_t part,
			    uint32_t *n)
{
	int err = report_view_begin(&json->view, part, json->options->view != REPORT_TIME, NULL);

	if (err < 0 || !report_view_has(&json->view, json->options))
		return err;
	text_put_raw(&json->b, (*n)++ ? ",\n{" : "\n{");
	partition_put_json(&json->view.partition, part, &json->b);
	text_printf(&json->b, ",\"samples\":%" PRIu64 ",", json->view.whole);
	err = report_json_view(json, h, part);
	text_put_raw(&json->b, "}");
	return err;
}

static int parts(struct report_json *json, const struct histogram *h)
{
	const struct groups *groups = &json->view.partition.groups;
	uint64_t hidden = 0, all = profile_total(json->view.profile);
	uint32_t i = 0, n = 0;
	int err = 0;

	text_put_raw(&json->b, json->options->by == PARTITION_BY_PROCESS ? ",\"processes\":["
									 : ",\"parts\":[");
	for (; err == 0 && i < groups->n_ranking; i++) {
		if (treeview_is_small(groups->samples[groups->ranking[i]], all, json->options))
			break;
		err = report_json_part(json, h, groups->ranking[i], &n);
	}
	for (uint32_t at = i; at < groups->n_ranking; at++)
		hidden += groups->samples[groups->ranking[at]];
	text_printf(&json->b, "],\"hidden_%s\":{\"%s\":%u,\"samples\":%" PRIu64 "}",
		    json->options->by == PARTITION_BY_PROCESS ? "processes" : "parts",
		    json->options->by == PARTITION_BY_PROCESS ? "processes" : "parts",
		    groups->n_ranking - i, hidden);
	return err;
}

static int report_json_symbols(struct report_json *json)
{
	size_t n = profile_symbol_count(json->view.profile);
	int err = 0;

	text_put_raw(&json->b, ",\"symbols\":[");
	for (size_t i = 0; err == 0 && i < n; i++) {
		const struct profile_symbol *symbol =
			profile_symbol_at(json->view.profile, (uint32_t)i);

		text_put_raw(&json->b, i ? ",\n{\"name\":" : "\n{\"name\":");
		text_put_json(&json->b, symbol->name);
		text_put_raw(&json->b, ",\"object\":");
		text_put_json(&json->b, symbol->object);
		text_printf(&json->b, ",\"kernel\":%s,\"mark\":%s,\"unnamed\":%s}",
			    symbol->is_kernel ? "true" : "false",
			    symbol->is_mark ? "true" : "false",
			    symbol->is_unnamed ? "true" : "false");
		err = drain(json, REPORT_JSON_CHUNK);
	}
	text_put_raw(&json->b, "]}\n");
	return err;
}

/* Writes the options of the report: view, limit and grouping. */
static void asked(struct report_json *json, const struct histogram *h)
{
	static const char *const views[] = {
		[REPORT_TREE] = "tree",	    [REPORT_FLAT] = "flat", [REPORT_CALLERS] = "callers",
		[REPORT_AROUND] = "around", [REPORT_TIME] = "time",
	};

	text_printf(&json->b, ",\"view\":\"%s\",\"percent_limit\":%g,\"by\":\"%s\"",
		    views[json->options->view], json->options->percent_limit,
		    partition_word(json->options->by));
	if (json->options->view == REPORT_AROUND) {
		text_put_raw(&json->b, ",\"around\":");
		text_put_json(&json->b, json->options->around);
	}
	if (json->options->view == REPORT_TIME)
		text_printf(&json->b, ",\"from_ns\":%" PRIu64 ",\"step_ns\":%" PRIu64, h->from_ns,
			    h->step_ns);
}

static int report_json_write(struct report_json *json, const struct histogram *h)
{
	int err;

	text_put_raw(&json->b, "{\"schema\":1,");
	report_header_json(json->view.profile, &json->b);
	asked(json, h);
	err = parts(json, h);
	if (err == 0)
		err = report_json_symbols(json);
	if (err == 0)
		err = drain(json, 0);
	if (err == 0 && fflush(json->out) != 0)
		err = -EIO;
	return err;
}

int report_write_json(struct profile *profile, const struct report_options *options, FILE *out)
{
	struct report_json json = {.options = options, .out = out};
	struct histogram histogram = {0};
	int err;

	if (options->view == REPORT_REGIONS)
		return region_view_json(profile, options, out);
	if (options->view == REPORT_WAKERS)
		return waker_view_json(profile, out);
	if (options->view == REPORT_WAITS)
		return wait_view_json(profile, options, out);
	err = report_view_new(profile, options, &json.view);
	if (err == 0 && options->view == REPORT_TIME)
		err = histogram_make(&json.view.partition, options->n_bins, &histogram);
	if (err == 0)
		err = report_json_write(&json, &histogram);
	histogram_free(&histogram);
	report_view_free(&json.view);
	buf_free(&json.b);
	return err;
}
