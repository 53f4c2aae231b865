/* SPDX-License-Identifier: MIT */
/* Differences as text and as JSON; see tagset_diff.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/function_name.h"
#include "base/json_put.h"
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

/* Returns the original of an escaped text. */
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

/* A unit for amounts: one of it is `size`. */
struct diff_unit {
	const char *name;
	double size;
	int decimals;
};

/* Returns whether the amounts that are compared are nanoseconds. */
static bool is_time(const struct tagset_diff *diff)
{
	return diff->ask.metric == METRIC_CPU ? diff->is_timed
					      : metric_info(diff->ask.metric)->unit == METRIC_NS;
}

/* Picks one unit for all rows, in which the largest value is at least 1. */
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

/* Returns whether changes have a sampling error. */
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
		metric_put_records(METRIC_CPU, diff->records[side], &w->line);
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

/* Appends a function's name as text shows it. */
static void put_function(struct tagset_diff_writer *w, uint32_t function)
{
	const char *name = original(w, tagset_diff_function(w->diff, function));
	struct buf b = {0};

	if (!w->options->full_names)
		function_name_put_short(name, strlen(name), FUNCTION_NAME_FOLDED, &b);
	buf_put_u8(&b, '\0');
	text_put(&w->line, w->options->full_names || b.failed ? name : (const char *)b.data, NULL);
	buf_free(&b);
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
		put_function(w, w->path.items[i]);
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
		put_function(w, row->key);
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

static void tagset_diff_free_writer(struct tagset_diff_writer *w)
{
	buf_free(&w->name);
	free(w->path.items);
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
	text_printf(&w.line, "# %u of %u row%s changed%s", significant, diff->n,
		    text_plural(diff->n, "", "s"), has_errors(diff) ? " beyond noise" : "");
	if (hidden)
		text_printf(&w.line, "; %u not shown (--percent-limit, --significant)", hidden);
	text_put_raw(&w.line, "\n");
	tagset_diff_free_writer(&w);
	return text_end(&w.line, out, err);
}

/* --- JSON ---------------------------------------------------------------------------------- */

static int json_key(struct tagset_diff_writer *w, const struct tagset_diff_row *row, struct json *j)
{
	uint32_t n;
	int err;

	if (w->diff->ask.by == TAGSET_DIFF_BY_FUNCTION) {
		json_put_string(j, "function",
				original(w, tagset_diff_function(w->diff, row->key)));
		return 0;
	}
	json_put_hex(j, "tag", tagset_nodes(w->set, &n)[row->key].tag);
	json_put_array(j, "path");
	err = tagset_diff_path(w, row->key);
	for (size_t i = 0; err == 0 && i < w->path.count; i++)
		json_put_string(j, NULL,
				original(w, tagset_diff_function(w->diff, w->path.items[i])));
	json_put_end(j);
	return err;
}

static void json_pair(struct json *j, const char *key, const uint64_t values[2])
{
	json_put_array(j, key);
	json_put_uint(j, NULL, values[0]);
	json_put_uint(j, NULL, values[1]);
	json_put_end(j);
}

static int json_row(struct tagset_diff_writer *w, const struct tagset_diff_row *row, struct json *j)
{
	int err;

	json_put_line(j);
	json_put_object(j, NULL);
	err = json_key(w, row, j);
	json_pair(j, "self", row->self);
	json_pair(j, "total", row->total);
	json_pair(j, "records", row->records);
	json_put_double(j, "change", row->change, 9);
	json_put_double(j, "error", row->error, 9);
	json_put_double(j, "p", row->p, 6);
	json_put_bool(j, "significant", row->is_significant);
	json_put_end(j);
	return err;
}

/* Writes what is compared, and how much each side has. */
static void json_head(const struct tagset_diff *diff, const struct tagset_diff_options *options,
		      struct json *j)
{
	json_put_uint(j, "schema", 2);
	json_put_string(j, "by", diff->ask.by == TAGSET_DIFF_BY_TAG ? "tag" : "function");
	json_put_string(j, "metric", metric_info(diff->ask.metric)->name);
	json_put_string(j, "unit",
			is_time(diff) ? "nanoseconds" : metric_unit_name(diff->ask.metric));
	json_put_string(j, "compared", diff->ask.is_share ? "shares" : "amounts");
	if (diff->ask.base || options->per)
		json_put_string(j, "per", diff->ask.base ? diff->ask.base : options->per);
	else
		json_put_null(j, "per");
	json_put_array(j, "sides");
	for (unsigned side = 0; side < 2; side++) {
		json_put_object(j, NULL);
		json_put_string(j, "name", options->names[side]);
		json_put_uint(j, "samples", diff->records[side]);
		json_put_uint(j, "amount", diff->amount[side]);
		json_put_end(j);
	}
	json_put_end(j);
}

int tagset_diff_write_json(const struct tagset *set, const struct tagset_diff *diff,
			   const struct tagset_diff_options *options, FILE *out)
{
	struct tagset_diff_writer w = {.set = set, .diff = diff, .options = options};
	struct json j = {.out = out};
	int err = 0;

	json_put_object(&j, NULL);
	json_head(diff, options, &j);
	json_put_array(&j, "rows");
	for (uint32_t i = 0; !err && !j.err && i < diff->n; i++)
		if (is_shown(&w, &diff->rows[i]))
			err = json_row(&w, &diff->rows[i], &j);
	json_put_line(&j);
	json_put_end(&j);
	tagset_diff_free_writer(&w);
	return json_put_finish(&j, err);
}
