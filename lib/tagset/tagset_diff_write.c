/* SPDX-License-Identifier: MIT */
/* Differences as text and as JSON; see diff.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "tagset/tagset_diff.h"
#include "base/text.h"

struct tagset_diff_writer {
	const struct tagset *set;
	const struct tagset_diff *diff;
	const struct tagset_diff_options *options;
	FILE *out;
	struct buf line, name;
	VEC(uint32_t) path; /* nodes, root first */
};

static const uint64_t *counts(const struct tagset_diff_writer *w, const struct tagset_diff_row *row)
{
	return w->diff->by == TAGSET_DIFF_BY_TAG ? row->self : row->total;
}

/* The original of an escaped text, ended by 0. */
static const char *original(struct tagset_diff_writer *w, const char *escaped)
{
	buf_clear(&w->name);
	tagset_text(&w->name, escaped, strlen(escaped));
	buf_put_u8(&w->name, 0);
	return w->name.failed ? "" : (const char *)w->name.data;
}

static int tagset_diff_path(struct tagset_diff_writer *w, uint32_t node)
{
	uint32_t n;
	const struct tagset_node *nodes = tagset_nodes(w->set, &n);

	w->path.count = 0;
	if (VEC_RESERVE(&w->path, nodes[node].depth) < 0)
		return -ENOMEM;
	w->path.count = nodes[node].depth;
	for (uint32_t at = node, i = nodes[node].depth; at; at = nodes[at].parent)
		w->path.items[--i] = nodes[at].location;
	for (uint32_t i = 0; i < w->path.count; i++)
		w->path.items[i] = w->diff->function_of[w->path.items[i]];
	return 0;
}

/* --- text ---------------------------------------------------------------------------------- */

static void text_header(struct tagset_diff_writer *w)
{
	for (unsigned side = 0; side < 2; side++) {
		char amount[METRIC_AMOUNT_MAX];

		text_printf(&w->line, "# %c: %s of ", "AB"[side],
			    metric_amount(w->diff->metric, w->diff->amount[side], amount));
		text_put(&w->line, w->options->names[side], NULL);
		text_put_raw(&w->line, "\n");
	}
	text_printf(&w->line, "# shares are of all %s of A and of B; ",
		    w->diff->metric == METRIC_CPU ? "samples" : metric_info(w->diff->metric)->name);
	text_put_raw(&w->line, metric_info(w->diff->metric)->is_sampled
				       ? "+/- is the sampling error (95 %); ~ marks a change "
					 "within noise\n"
				       : "they are counted, without a sampling error; ~ marks "
					 "what did not change\n");
	text_put_raw(
		&w->line,
		w->diff->by == TAGSET_DIFF_BY_TAG
			? "#\n#     A %      B %   change      +/-    tag               call path, "
			  "root first\n"
			: "#\n#     A %      B %   change      +/-    A self   B self   "
			  "function\n");
}

static int text_path(struct tagset_diff_writer *w, const struct tagset_diff_row *row)
{
	uint32_t n;
	int err = tagset_diff_path(w, row->key);

	if (err < 0)
		return err;
	text_printf(&w->line, "  %016" PRIx64 "  ", tagset_nodes(w->set, &n)[row->key].tag);
	for (size_t i = 0; i < w->path.count; i++) {
		text_put_raw(&w->line, i ? " > " : "");
		text_put(&w->line, original(w, tagset_diff_function(w->diff, w->path.items[i])),
			 NULL);
	}
	if (!w->path.count)
		text_put_raw(&w->line, "[no frames]");
	return 0;
}

static int text_row(struct tagset_diff_writer *w, const struct tagset_diff_row *row)
{
	const uint64_t *count = counts(w, row);
	double share[2], self[2];
	int err = 0;

	for (unsigned side = 0; side < 2; side++) {
		share[side] = 100.0 * (double)count[side] / (double)w->diff->amount[side];
		self[side] = 100.0 * (double)row->self[side] / (double)w->diff->amount[side];
	}
	if (w->options->color && row->is_significant)
		text_put_raw(&w->line, row->change > 0 ? "\033[31m" : "\033[32m");
	text_printf(&w->line, "%9.2f%9.2f%+9.2f%9.2f %c", share[0], share[1], 100 * row->change,
		    100 * row->error, row->is_significant ? ' ' : '~');
	if (w->diff->by == TAGSET_DIFF_BY_TAG) {
		err = text_path(w, row);
	} else {
		text_printf(&w->line, "%10.2f%9.2f   ", self[0], self[1]);
		text_put(&w->line, original(w, tagset_diff_function(w->diff, row->key)), NULL);
	}
	if (w->options->width)
		text_cut(&w->line,
			 w->options->width + (w->options->color && row->is_significant ? 5 : 0));
	if (w->options->color && row->is_significant)
		text_put_raw(&w->line, "\033[m");
	text_put_raw(&w->line, "\n");
	return err < 0 ? err : text_flush(&w->line, w->out);
}

static bool is_shown(const struct tagset_diff_writer *w, const struct tagset_diff_row *row)
{
	const uint64_t *count = counts(w, row);
	double a = (double)count[0] / (double)w->diff->amount[0];
	double b = (double)count[1] / (double)w->diff->amount[1];

	return (row->is_significant || !w->options->only_significant) &&
	       100 * fmax(a, b) >= w->options->percent_limit;
}

static int tagset_diff_finish(struct tagset_diff_writer *w, int err)
{
	err = text_end(&w->line, w->out, err);
	buf_free(&w->name);
	free(w->path.items);
	return err;
}

int tagset_diff_write_text(const struct tagset *set, const struct tagset_diff *diff,
			   const struct tagset_diff_options *options, FILE *out)
{
	struct tagset_diff_writer w = {.set = set, .diff = diff, .options = options, .out = out};
	uint32_t hidden = 0, significant = 0;
	int err = 0;

	text_header(&w);
	for (uint32_t i = 0; err == 0 && i < diff->n; i++) {
		significant += diff->rows[i].is_significant;
		if (is_shown(&w, &diff->rows[i]))
			err = text_row(&w, &diff->rows[i]);
		else
			hidden++;
	}
	text_printf(&w.line, "# %u of %u rows changed%s", significant, diff->n,
		    metric_info(diff->metric)->is_sampled ? " beyond noise" : "");
	if (hidden)
		text_printf(&w.line, "; %u rows are not shown (--percent-limit, --significant)",
			    hidden);
	text_put_raw(&w.line, "\n");
	return tagset_diff_finish(&w, err);
}

/* --- JSON ---------------------------------------------------------------------------------- */

static int json_key(struct tagset_diff_writer *w, const struct tagset_diff_row *row)
{
	uint32_t n;
	int err;

	if (w->diff->by == TAGSET_DIFF_BY_FUNCTION) {
		text_put_raw(&w->line, "\"function\":");
		text_put_json(&w->line, original(w, tagset_diff_function(w->diff, row->key)));
		return 0;
	}
	text_printf(&w->line, "\"tag\":\"%016" PRIx64 "\",\"path\":[",
		    tagset_nodes(w->set, &n)[row->key].tag);
	err = tagset_diff_path(w, row->key);
	for (size_t i = 0; err == 0 && i < w->path.count; i++) {
		text_put_raw(&w->line, i ? "," : "");
		text_put_json(&w->line,
			      original(w, tagset_diff_function(w->diff, w->path.items[i])));
	}
	text_put_raw(&w->line, "]");
	return err;
}

static int json_row(struct tagset_diff_writer *w, const struct tagset_diff_row *row, bool is_first)
{
	int err;

	text_put_raw(&w->line, is_first ? "\n{" : ",\n{");
	err = json_key(w, row);
	if (err < 0)
		return err;
	text_printf(&w->line, ",\"self\":[%" PRIu64 ",%" PRIu64 "]", row->self[0], row->self[1]);
	text_printf(&w->line, ",\"total\":[%" PRIu64 ",%" PRIu64 "]", row->total[0], row->total[1]);
	text_printf(&w->line, ",\"change\":%.9g,\"error\":%.9g,\"p\":%.6g,\"significant\":%s}",
		    row->change, row->error, row->p, row->is_significant ? "true" : "false");
	return text_flush(&w->line, w->out);
}

int tagset_diff_write_json(const struct tagset *set, const struct tagset_diff *diff,
			   const struct tagset_diff_options *options, FILE *out)
{
	struct tagset_diff_writer w = {.set = set, .diff = diff, .options = options, .out = out};
	bool is_first = true;
	int err = 0;

	text_printf(&w.line,
		    "{\"schema\":1,\"by\":\"%s\",\"metric\":\"%s\",\"unit\":\"%s\",\"sides\":[",
		    diff->by == TAGSET_DIFF_BY_TAG ? "tag" : "function",
		    metric_info(diff->metric)->name, metric_unit_name(diff->metric));
	for (unsigned side = 0; side < 2; side++) {
		text_put_raw(&w.line, side ? ",{\"name\":" : "{\"name\":");
		text_put_json(&w.line, options->names[side]);
		text_printf(&w.line, ",\"%s\":%" PRIu64 "}",
			    diff->metric == METRIC_CPU ? "samples" : "amount", diff->amount[side]);
	}
	text_put_raw(&w.line, "],\"rows\":[");
	for (uint32_t i = 0; err == 0 && i < diff->n; i++) {
		if (!is_shown(&w, &diff->rows[i]))
			continue;
		err = json_row(&w, &diff->rows[i], is_first);
		is_first = false;
	}
	text_put_raw(&w.line, "\n]}\n");
	return tagset_diff_finish(&w, err);
}
