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
	return w->diff->ask.by == TAGSET_DIFF_BY_TAG ? row->self : row->total;
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

/* What amounts are shown in: 1 or more of them are this. */
struct diff_unit {
	const char *name;
	double size;
	int decimals;
};

/* Returns whether what is compared are nanoseconds. */
static bool is_time(const struct tagset_diff *diff)
{
	return diff->ask.metric == METRIC_CPU ? diff->is_timed
					      : metric_info(diff->ask.metric)->unit == METRIC_NS;
}

/* Picks the unit of all rows by the largest value. */
static struct diff_unit unit_of(const struct tagset_diff *diff)
{
	static const struct diff_unit times[] = {
		{"s", 1e9, 3}, {"ms", 1e6, 3}, {"us", 1e3, 3}, {"ns", 1, 3}};
	static const struct diff_unit bytes[] = {
		{"GiB", 1073741824, 3}, {"MiB", 1048576, 3}, {"KiB", 1024, 3}, {"bytes", 1, 0}};
	static const struct diff_unit numbers[] = {
		{"G", 1e9, 3}, {"M", 1e6, 3}, {"", 1, 0}, {"", 1e-3, 3}};
	const struct diff_unit *units = is_time(diff) ? times
					: metric_info(diff->ask.metric)->unit == METRIC_BYTES
						? bytes
						: numbers;
	double most = fmax((double)diff->amount[0] * diff->scale[0],
			   (double)diff->amount[1] * diff->scale[1]);
	unsigned i = 0;

	if (diff->ask.is_share || diff->ask.base)
		return (struct diff_unit){"%", 0.01, 2};
	while (i < 3 && most < units[i].size)
		i++;
	if (units[i].size < 1)
		return (struct diff_unit){"", 1, 3};
	return units[i];
}

/* Whether changes have an error of sampling. */
static bool has_errors(const struct tagset_diff *diff)
{
	return metric_info(diff->ask.metric)->is_sampled || diff->has_variances;
}

/* Names what is compared: "CPU time", "samples", "alloc.bytes". */
static const char *what_of(const struct tagset_diff *diff)
{
	if (diff->ask.metric != METRIC_CPU)
		return metric_info(diff->ask.metric)->name;
	return diff->is_timed ? "CPU time" : diff->has_periods ? "events" : "samples";
}

static void text_amount(struct tagset_diff_writer *w, unsigned side)
{
	char amount[METRIC_AMOUNT_MAX];
	const struct tagset_diff *diff = w->diff;
	const enum metric metric = diff->ask.metric;

	if (metric == METRIC_CPU && diff->is_timed)
		text_printf(&w->line, "%s, ",
			    metric_number(METRIC_WALL, diff->amount[side], amount));
	else if (metric == METRIC_CPU && diff->has_periods)
		text_printf(&w->line, "%" PRIu64 " events, ", diff->amount[side]);
	if (metric == METRIC_CPU)
		text_printf(&w->line, "%" PRIu64 " samples", diff->records[side]);
	else
		text_put_raw(&w->line, metric_amount(metric, diff->amount[side], amount));
}

static void text_header(struct tagset_diff_writer *w)
{
	const struct tagset_diff *diff = w->diff;
	const struct diff_unit unit = unit_of(diff);

	for (unsigned side = 0; side < 2; side++) {
		text_printf(&w->line, "# %c: ", "AB"[side]);
		text_amount(w, side);
		text_put_raw(&w->line, " of ");
		text_put(&w->line, w->options->names[side], NULL);
		text_put_raw(&w->line, "\n");
	}
	if (diff->ask.is_share)
		text_printf(&w->line, "# shares are of all %s of A and of B; ", what_of(diff));
	else if (diff->ask.base)
		text_printf(&w->line, "# %s, in percent of that of %s; ", what_of(diff),
			    diff->ask.base);
	else
		text_printf(&w->line, "# %s%s%s%s%s; ", what_of(diff), *unit.name ? " in " : "",
			    unit.name, w->options->per ? " per " : "",
			    w->options->per ? w->options->per : "");
	text_put_raw(&w->line, has_errors(diff)
				       ? "+/- is the sampling error (95 %); ~ marks a change "
					 "within noise\n"
				       : "they are counted, without a sampling error; ~ marks "
					 "what did not change\n");
	text_put_raw(&w->line, diff->ask.by == TAGSET_DIFF_BY_TAG
				       ? "#\n#         A          B     change        +/-    tag"
					 "               call path, root first\n"
				       : "#\n#         A          B     change        +/-      "
					 "A self     B self   function\n");
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
	const struct tagset_diff *diff = w->diff;
	const struct diff_unit unit = unit_of(diff);
	const uint64_t *count = counts(w, row);
	double value[2], self[2];
	int err = 0;

	for (unsigned side = 0; side < 2; side++) {
		value[side] = (double)count[side] * diff->scale[side] / unit.size;
		self[side] = (double)row->self[side] * diff->scale[side] / unit.size;
	}
	if (w->options->color && row->is_significant)
		text_put_raw(&w->line, row->change > 0 ? "\033[31m" : "\033[32m");
	text_printf(&w->line, "%11.*f%11.*f%+11.*f%11.*f %c", unit.decimals, value[0],
		    unit.decimals, value[1], unit.decimals, row->change / unit.size, unit.decimals,
		    row->error / unit.size, row->is_significant ? ' ' : '~');
	if (diff->ask.by == TAGSET_DIFF_BY_TAG) {
		err = text_path(w, row);
	} else {
		text_printf(&w->line, "%11.*f%11.*f   ", unit.decimals, self[0], unit.decimals,
			    self[1]);
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
		    has_errors(diff) ? " beyond noise" : "");
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

	if (w->diff->ask.by == TAGSET_DIFF_BY_FUNCTION) {
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
	text_printf(&w->line, ",\"records\":[%" PRIu64 ",%" PRIu64 "]", row->records[0],
		    row->records[1]);
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
		    "{\"schema\":2,\"by\":\"%s\",\"metric\":\"%s\",\"unit\":\"%s\","
		    "\"compared\":\"%s\",\"per\":",
		    diff->ask.by == TAGSET_DIFF_BY_TAG ? "tag" : "function",
		    metric_info(diff->ask.metric)->name,
		    is_time(diff) ? "nanoseconds" : metric_unit_name(diff->ask.metric),
		    diff->ask.is_share ? "shares" : "amounts");
	if (diff->ask.base || options->per)
		text_put_json(&w.line, diff->ask.base ? diff->ask.base : options->per);
	else
		text_put_raw(&w.line, "null");
	text_put_raw(&w.line, ",\"sides\":[");
	for (unsigned side = 0; side < 2; side++) {
		text_put_raw(&w.line, side ? ",{\"name\":" : "{\"name\":");
		text_put_json(&w.line, options->names[side]);
		text_printf(&w.line, ",\"samples\":%" PRIu64 ",\"amount\":%" PRIu64 "}",
			    diff->records[side], diff->amount[side]);
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
