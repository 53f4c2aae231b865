/* SPDX-License-Identifier: MIT */
/* Writes the kinds of bursts; see burst_rows.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/counter_names.h"
#include "folding/burst_rows.h"
#include "folding/folding_put.h"
#include "report/report_header.h"
#include "stack/metric.h"

#define OFF_PREFIX "region_off."

static uint64_t count_bursts(const struct burst_rows *rows)
{
	uint64_t n = 0;

	for (size_t i = 0; i < rows->rows.count; i++)
		n += rows->rows.items[i].figures.bursts;
	return n;
}

static uint64_t computing_ns(const struct burst_rows *rows)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < rows->rows.count; i++)
		ns += rows->rows.items[i].figures.part_ns;
	return ns;
}

/* Returns whether a row is the first row of its part; false if there is only one part. */
static bool begins_part(const struct burst_rows *rows, size_t index)
{
	const struct burst_row *row = &rows->rows.items[index];

	return rows->partition.by != PARTITION_BY_ALL && (!index || row[-1].part != row->part);
}

/* --- paths ------------------------------------------------------------------------------------ */

static void put_name(struct buf *b, const char *name, bool is_first, bool utf8)
{
	text_put_raw(b, is_first ? "" : " > ");
	text_put_name(b, name, utf8);
}

/* Appends the functions of an MPI call's path from index `from` on. Returns 0 or -ENOMEM. */
static int put_call(struct profile *profile, const struct burst_call *call, size_t from,
		    struct buf *b, bool utf8)
{
	size_t n;
	const struct profile_frame *frames =
		profile_frames(profile, call->node, call->end_reason, call->origin, &n);

	for (size_t i = from; frames && i < n; i++)
		put_name(b, frames[i].symbol->name, i == from, utf8);
	return frames ? 0 : -ENOMEM;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Appends a time in a column of its own. */
static void put_time(struct buf *b, double ns)
{
	struct buf time = {0};

	folding_put_time(&time, ns);
	buf_put(&time, "", 1);
	text_printf(b, " %9s", time.failed ? "" : (const char *)time.data);
	b->failed |= time.failed;
	buf_free(&time);
}

/* Returns the number of bursts, at any time, from which the probes' cost was subtracted. */
static uint64_t count_shorter(const struct bursts *bursts)
{
	uint64_t n = 0;

	for (size_t i = 0; i < bursts->all.count; i++)
		n += bursts->all.items[i].is_shorter;
	return n;
}

static void put_notes(const struct profile *profile, const struct burst_rows *rows, struct buf *b)
{
	const struct store_tables *tables = profile_tables(profile);
	uint64_t lost = 0;

	if (count_shorter(&rows->bursts)) {
		text_put_raw(b, "# ");
		folding_put_time(b, (double)(rows->bursts.before_ns + rows->bursts.after_ns));
		text_printf(b,
			    ", the way to and from the probes of the two calls, are taken off "
			    "%" PRIu64 " of %zu bursts of the recording\n",
			    count_shorter(&rows->bursts), rows->bursts.all.count);
	}
	folding_put_kept(b);
	if (rows->bursts.after_left)
		text_printf(b,
			    "# note: left out: %" PRIu64 ", after calls that did not return, so "
			    "their beginning is not known\n",
			    rows->bursts.after_left);
	if (report_header_counter(tables, "regions_lost_ring", &lost) && lost)
		text_printf(b,
			    "# note: %" PRIu64 " %s through regions %s lost: a call of MPI "
			    "among them, with the bursts before and after it, is taken for one "
			    "burst\n",
			    lost, text_plural(lost, "pass", "passes"),
			    text_plural(lost, "was", "were"));
	for (uint32_t i = 0; i < tables->n_counters; i++) {
		const char *name = tables->counters[i].name;

		if (strncmp(name, OFF_PREFIX, strlen(OFF_PREFIX)) != 0)
			continue;
		text_put_raw(
			b,
			"# note: --region-limit took this function off, so bursts can have calls of it in "
			"them: ");
		text_put(b, name + strlen(OFF_PREFIX), NULL);
		text_put_raw(b, "\n");
	}
}

static void put_head(const struct profile *profile, const struct burst_rows *rows, struct buf *b)
{
	const char *time = rows->is_cpu_time ? "CPU time" : "wall time";

	text_printf(b, "\n# computing bursts, from a call of MPI to the next one of a thread: ");
	text_printf(b, "%" PRIu64 " burst%s, ", count_bursts(rows),
		    text_plural(count_bursts(rows), "", "s"));
	folding_put_time(b, (double)computing_ns(rows));
	text_put_raw(b, ", beside ");
	folding_put_time(b, (double)rows->bursts.calls_ns);
	text_printf(b, " in calls\n# kinds are alike in the two calls' paths and %s", time);
	for (unsigned i = 0; i < METRIC_COUNTERS; i++) {
		if (!rows->bursts.counters[i] || i == counter_names_cpu(rows->bursts.counters))
			continue;
		text_put_raw(b, ", ");
		text_put(b, rows->bursts.counters[i], NULL);
	}
	text_put_raw(b, "; stackctl fold --burst=KIND shows what happens in one\n");
	put_notes(profile, rows, b);
	text_printf(b,
		    "\n#  kind     bursts     total   share      mean     +- sd   on CPU"
		    "  from the end of the call > to the next\n"
		    "# total: of wall time; share: of all bursts'%s; mean, and its standard "
		    "deviation: of a burst's %s\n",
		    rows->partition.by == PARTITION_BY_ALL ? "" : " of the part", time);
}

static int write_line(struct buf *b, const struct report_options *options, FILE *out)
{
	text_cut(b, options->width);
	text_put_raw(b, "\n");
	return text_flush(b, out);
}

static void put_on_cpu(struct profile *profile, const struct burst_rows *rows,
		       const struct burst_row *row, struct buf *b)
{
	double error, share = burst_rows_on_cpu(profile, rows, row, &error);

	if (share < 0)
		text_printf(b, " %8s", "");
	else
		text_printf(b, " %s%6.1f%%", error > 0 ? "~" : " ", share * 100);
}

static void put_figures(struct profile *profile, const struct burst_rows *rows,
			const struct burst_row *row, struct buf *b)
{
	const struct burst_figures *f = &row->figures;
	char share[TEXT_SHARE_MAX], kind[16] = "noise";

	if (row->kind != FOLD_NOISE)
		snprintf(kind, sizeof(kind), "%" PRIu32, row->kind + 1);
	text_printf(b, "%7s %10" PRIu64, kind, f->bursts);
	put_time(b, (double)f->part_ns);
	text_printf(b, " %6s%%", text_share(f->part_ns, rows->part_ns[row->part], share));
	if (f->timed) {
		put_time(b, f->mean_ns);
		put_time(b, f->deviation);
	} else {
		text_printf(b, " %9s %9s", "", "");
	}
	put_on_cpu(profile, rows, row, b);
	text_put_raw(b, "  ");
}

/* Appends a call's function without its callers. */
static int put_function(struct profile *profile, const struct burst_call *call, struct buf *b,
			bool utf8)
{
	size_t n;
	const struct profile_frame *frames =
		profile_frames(profile, call->node, call->end_reason, call->origin, &n);

	if (frames && n)
		text_put_name(b, frames[n - 1].symbol->name, utf8);
	return frames ? 0 : -ENOMEM;
}

static int write_amounts(const struct burst_rows *rows, const struct burst_row *row,
			 const struct report_options *options, struct buf *b, FILE *out)
{
	int err = 0;

	for (unsigned i = 0; i < METRIC_COUNTERS && !err; i++) {
		const struct burst_amount *a = &row->figures.amounts[i];

		if (!a->known || i == counter_names_cpu(rows->bursts.counters))
			continue;
		text_put_raw(b, "            with  ");
		text_put_name(b, rows->bursts.counters[i], options->utf8);
		text_put_raw(b, ": ");
		folding_put_number(b, a->sum / (double)a->known);
		text_put_raw(b, " each, ");
		folding_put_number(b, a->ns > 0 ? a->sum / a->ns * 1e9 : 0);
		text_put_raw(b, "/s");
		if (a->known < row->figures.bursts)
			text_printf(b, " (of %" PRIu64 " burst%s)", a->known,
				    text_plural(a->known, "", "s"));
		err = write_line(b, options, out);
	}
	return err;
}

/* Writes the functions of an MPI call's path from index `from` on, after `word`. */
static int write_call(struct profile *profile, const char *word, const struct burst_call *call,
		      size_t from, const struct report_options *options, struct buf *b, FILE *out)
{
	int err;

	text_printf(b, "            %-5s ", word);
	err = put_call(profile, call, from, b, options->utf8);
	return err ? err : write_line(b, options, out);
}

/* Returns the callers that two MPI calls have in common, as an array of *ret_n functions that the
 * caller frees. NULL: memory is short. */
static const struct profile_symbol **find_callers(struct profile *profile,
						  const struct burst_call *before,
						  const struct burst_call *after, size_t *ret_n)
{
	const struct profile_frame *frames;
	const struct profile_symbol **callers;
	size_t n, most;

	frames = profile_frames(profile, before->node, before->end_reason, before->origin, &most);
	callers = frames ? calloc(most + 1, sizeof(*callers)) : NULL;
	if (!callers)
		return NULL;
	for (size_t i = 0; i < most; i++)
		callers[i] = frames[i].symbol;
	frames = profile_frames(profile, after->node, after->end_reason, after->origin, &n);
	for (*ret_n = 0; frames && *ret_n + 1 < most && *ret_n + 1 < n; ++*ret_n) {
		if (frames[*ret_n].symbol != callers[*ret_n])
			break;
	}
	return callers;
}

/* Writes the paths of both calls: first the callers that they share, then the rest of each. */
static int write_calls(struct profile *profile, const struct burst_call *before,
		       const struct burst_call *after, const struct report_options *options,
		       struct buf *b, FILE *out)
{
	size_t n = 0;
	const struct profile_symbol **callers = find_callers(profile, before, after, &n);
	int err = callers ? 0 : -ENOMEM;

	/* The innermost shared caller is written below, where the rest of each path begins with
	 * it. */
	n -= n > 0;
	if (n)
		text_put_raw(b, "            below ");
	for (size_t i = 0; i < n; i++)
		put_name(b, callers[i]->name, !i, options->utf8);
	free(callers);
	if (n)
		err = write_line(b, options, out);
	if (!err)
		err = write_call(profile, "from", before, n, options, b, out);
	return err ? err : write_call(profile, "to", after, n, options, b, out);
}

/* Says how many bursts the mean is over, if not all. */
static void put_timed(const struct burst_figures *f, struct buf *b)
{
	if (f->timed < f->bursts && f->timed)
		text_printf(b, "  (mean of %" PRIu64 ": CPU time of the others was not read)",
			    f->timed);
	else if (f->timed < f->bursts)
		text_put_raw(b, "  (CPU time was not read)");
}

static int write_kind(struct profile *profile, const struct burst_rows *rows,
		      const struct burst_row *row, const struct report_options *options,
		      struct buf *b, FILE *out)
{
	const struct burst_call *calls = rows->bursts.calls.items;
	char share[TEXT_SHARE_MAX];
	int err = put_function(profile, &calls[row->before], b, options->utf8);

	text_put_raw(b, " > ");
	if (!err)
		err = put_function(profile, &calls[row->after], b, options->utf8);
	put_timed(&row->figures, b);
	if (!err)
		err = write_line(b, options, out);
	if (!err)
		err = write_calls(profile, &calls[row->before], &calls[row->after], options, b,
				  out);
	if (!err && row->depth) {
		text_put_raw(b, "            in    ");
		for (uint32_t i = row->shared; i < row->depth; i++)
			put_name(b, rows->symbols.items[row->first + i]->name, i == row->shared,
				 options->utf8);
		text_printf(b, " (%s%% of %" PRIu64 " sample%s)",
			    text_share(row->of_path, row->figures.samples, share),
			    row->figures.samples, text_plural(row->figures.samples, "", "s"));
		err = write_line(b, options, out);
	}
	return err ? err : write_amounts(rows, row, options, b, out);
}

static int write_row(struct profile *profile, const struct burst_rows *rows,
		     const struct burst_row *row, const struct report_options *options,
		     struct buf *b, FILE *out)
{
	put_figures(profile, rows, row, b);
	if (row->kind != FOLD_NOISE)
		return write_kind(profile, rows, row, options, b, out);
	text_put_raw(b, "unlike the others between their calls");
	put_timed(&row->figures, b);
	return write_line(b, options, out);
}

/* The sums over a part's rows below the limit. */
struct rest {
	uint64_t rows, bursts, ns;
};

static bool is_small(const struct burst_rows *rows, const struct burst_row *row,
		     const struct report_options *options)
{
	return (double)row->figures.part_ns * 100 <
	       options->percent_limit * (double)rows->part_ns[row->part];
}

static int write_rest(const struct burst_rows *rows, uint32_t part, struct rest *rest,
		      const struct report_options *options, struct buf *b, FILE *out)
{
	char share[TEXT_SHARE_MAX];

	if (!rest->rows)
		return 0;
	text_printf(b, "%7s %10" PRIu64, "others", rest->bursts);
	put_time(b, (double)rest->ns);
	text_printf(b, " %6s%%%30s%" PRIu64 " kind%s below %g%%: --percent-limit 0 shows %s",
		    text_share(rest->ns, rows->part_ns[part], share), "", rest->rows,
		    text_plural(rest->rows, "", "s"), options->percent_limit,
		    text_plural(rest->rows, "it", "them"));
	*rest = (struct rest){0};
	return write_line(b, options, out);
}

static int write_rows(struct profile *profile, const struct burst_rows *rows,
		      const struct report_options *options, struct buf *b, FILE *out)
{
	struct rest rest = {0};
	int err = 0;

	for (size_t i = 0; i < rows->rows.count && !err; i++) {
		const struct burst_row *row = &rows->rows.items[i];
		const bool is_last = i + 1 == rows->rows.count || row[1].part != row->part;

		if (begins_part(rows, i)) {
			text_put_raw(b, "\n");
			partition_put_name(&rows->partition, row->part, options->utf8, b);
			err = write_line(b, options, out);
		}
		if (!err && is_small(rows, row, options) && row->kind != FOLD_NOISE) {
			rest.rows++;
			rest.bursts += row->figures.bursts;
			rest.ns += row->figures.part_ns;
		} else if (!err) {
			err = write_row(profile, rows, row, options, b, out);
		}
		if (!err && is_last)
			err = write_rest(rows, row->part, &rest, options, b, out);
	}
	return err;
}

int burst_view_text(struct profile *profile, const struct burst_rows *rows,
		    const struct report_options *options, FILE *out)
{
	struct buf b = {0};
	int err = report_header_text(profile, options, out);

	if (!err) {
		put_head(profile, rows, &b);
		err = text_flush(&b, out);
	}
	if (!err)
		err = write_rows(profile, rows, options, &b, out);
	return text_end(&b, out, err);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_amounts(const struct burst_rows *rows, const struct burst_row *row, struct json *j)
{
	json_put_object(j, "counters");
	for (unsigned i = 0; i < METRIC_COUNTERS; i++) {
		const struct burst_amount *a = &row->figures.amounts[i];

		if (!a->known)
			continue;
		json_put_object(j, rows->bursts.counters[i]);
		json_put_uint(j, "bursts", a->known);
		json_put_double(j, "mean", a->sum / (double)a->known, 10);
		json_put_double(j, "per_second", a->ns > 0 ? a->sum / a->ns * 1e9 : 0, 10);
		json_put_end(j);
	}
	json_put_end(j);
}

/* Writes a number, or null if it is unknown. */
static void json_if(struct json *j, bool is_known, const char *key, double value, unsigned decimals)
{
	if (is_known)
		json_put_fixed(j, key, value, decimals);
	else
		json_put_null(j, key);
}

static void json_figures(struct profile *profile, const struct burst_rows *rows,
			 const struct burst_row *row, struct json *j)
{
	const struct burst_figures *f = &row->figures;
	double error, share = burst_rows_on_cpu(profile, rows, row, &error);

	json_put_uint(j, "bursts", f->bursts);
	json_put_uint(j, "total_ns", f->part_ns);
	json_put_uint(j, "min_ns", f->least_ns);
	json_put_uint(j, "max_ns", f->most_ns);
	json_put_uint(j, "mean_of", f->timed);
	json_if(j, f->timed, "mean_ns", f->mean_ns, 0);
	json_if(j, f->timed, "deviation_ns", f->deviation, 0);
	json_if(j, share >= 0, "on_cpu", share, 6);
	json_if(j, share >= 0, "on_cpu_error", error, 6);
	json_put_uint(j, "samples", f->samples);
}

/* Writes the functions of a call's path; bursts of no kind have none. */
static int json_call(struct profile *profile, const struct burst_row *row, const char *key,
		     const struct burst_call *call, struct json *j)
{
	const struct profile_frame *frames = NULL;
	size_t n = 0;
	int err = 0;

	if (row->kind != FOLD_NOISE) {
		frames = profile_frames(profile, call->node, call->end_reason, call->origin, &n);
		err = frames ? 0 : -ENOMEM;
	}
	json_put_array(j, key);
	for (size_t i = 0; frames && i < n; i++)
		json_put_string(j, NULL, frames[i].symbol->name);
	json_put_end(j);
	return err;
}

static int json_calls(struct profile *profile, const struct burst_rows *rows,
		      const struct burst_row *row, struct json *j)
{
	const struct burst_call *calls = rows->bursts.calls.items;
	int err = json_call(profile, row, "before", &calls[row->before], j);

	if (!err)
		err = json_call(profile, row, "after", &calls[row->after], j);
	json_put_array(j, "path");
	for (uint32_t i = 0; i < row->depth; i++)
		json_put_string(j, NULL, rows->symbols.items[row->first + i]->name);
	json_put_end(j);
	json_put_uint(j, "path_samples", row->of_path);
	return err;
}

static int json_row(struct profile *profile, const struct burst_rows *rows,
		    const struct burst_row *row, struct json *j)
{
	int err;

	json_put_line(j);
	json_put_object(j, NULL);
	if (rows->partition.by != PARTITION_BY_ALL)
		partition_json(&rows->partition, row->part, j);
	if (row->kind == FOLD_NOISE)
		json_put_null(j, "kind");
	else
		json_put_uint(j, "kind", row->kind + 1);
	json_figures(profile, rows, row, j);
	err = json_calls(profile, rows, row, j);
	json_amounts(rows, row, j);
	json_put_end(j);
	return err;
}

int burst_view_json(struct profile *profile, const struct burst_rows *rows, FILE *out)
{
	struct json j = {.out = out};
	int err = 0;

	report_header_begin_json(profile, &j);
	json_put_string(&j, "by", partition_word(rows->partition.by));
	json_put_bool(&j, "is_cpu_time", rows->is_cpu_time);
	json_put_uint(&j, "bursts", count_bursts(rows));
	json_put_uint(&j, "computing_ns", computing_ns(rows));
	json_put_uint(&j, "calls_ns", rows->bursts.calls_ns);
	json_put_uint(&j, "after_left", rows->bursts.after_left);
	json_put_uint(&j, "probes_ns", rows->bursts.before_ns + rows->bursts.after_ns);
	json_put_uint(&j, "shorter", count_shorter(&rows->bursts));
	json_put_array(&j, "kinds");
	for (size_t i = 0; !err && !j.err && i < rows->rows.count; i++)
		err = json_row(profile, rows, &rows->rows.items[i], &j);
	return json_put_finish(&j, err);
}
