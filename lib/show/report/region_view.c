/* SPDX-License-Identifier: MIT */
/*
 * Writes the instances of regions; see region_view.h.
 *
 * 100 % is the time of the threads that passed through the region: for each of them, the duration
 * of the recording, or of the range that is chosen. So a thread that did not exist all that time
 * makes the share too small, never too large.
 */
#include "report/region_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "model/region_rows.h"
#include "report/report_header.h"
#include "report/treeview.h"
#include "stack/metric.h"
#include "tree/partition.h"

/* Returns the length of the selected time, times the number of threads that have passed through a
 * region. */
static uint64_t time_of_threads(const struct profile *profile, uint32_t n_threads)
{
	const struct store_recording *r = &profile_tables(profile)->recording;
	const uint64_t begin = profile_begin(profile), last = profile_end(profile);
	const uint64_t from = begin > r->start_ns ? begin : r->start_ns;
	const uint64_t to = last < r->end_ns ? last + 1 : r->end_ns;

	return to > from ? (to - from) * n_threads : 0;
}

/* Returns bytes per second of the time in counted passes. */
static uint64_t bandwidth(const struct region_figures *f, uint64_t bytes)
{
	const uint64_t ns = f->total_ns - f->estimated_ns; /* bytes are known of passes alone */

	return ns ? (uint64_t)((double)bytes * 1e9 / (double)ns) : 0;
}

/* The columns that only some recordings need. */
struct columns {
	bool bytes; /* bytes of MPI calls */
	bool files; /* bytes of files */
	bool at_most;
	bool left; /* passes that did not return */
};

static struct columns columns_of(const struct region_rows *rows)
{
	struct columns columns = {0};

	for (size_t i = 0; i < rows->regions.count; i++) {
		const struct region_figures *f = &rows->regions.items[i].figures;

		columns.files |= f->read || f->written;
		columns.bytes |= f->sent || f->received || f->read || f->written || f->unknown;
		columns.at_most |= f->at_most;
		columns.left |= f->left != 0;
	}
	return columns;
}

static uint64_t all_bytes(const struct region_figures *f)
{
	return f->sent + f->received + f->read + f->written;
}

static uint64_t mean(const struct region_figures *f)
{
	return f->visits ? f->ended_ns / f->visits : 0;
}

/* Returns whether single visits were recorded, and not only their sums. */
static bool has_single(const struct region_figures *f)
{
	return f->visits && f->least_ns != UINT64_MAX;
}

static uint64_t least(const struct region_figures *f)
{
	return has_single(f) ? f->least_ns : 0;
}

/* --- parts ----------------------------------------------------------------------------------- */

struct view {
	struct partition partition;
	struct region_rows rows;
};

static uint32_t part_of(const void *arg, uint32_t thread, uint16_t cpu)
{
	return partition_of(arg, thread, cpu);
}

static void free_view(struct view *v)
{
	region_rows_free(&v->rows);
	partition_free(&v->partition);
}

/* Makes the rows of each part. The caller frees in any case. */
static int make_view(struct profile *profile, enum partition_by by, struct view *v)
{
	const struct region_parts parts = {part_of, &v->partition};
	int err;

	*v = (struct view){0};
	err = partition_make(profile, by, &v->partition);
	return err ? err : region_rows_make(profile, &parts, &v->rows);
}

/* Returns whether a region is the first of its part; false if there is only one part. */
static bool begins_part(const struct view *v, size_t index)
{
	const struct region_row *row = &v->rows.regions.items[index];

	return v->partition.by != PARTITION_BY_ALL && (!index || row[-1].part != row->part);
}

/* --- passes that are not in the rows ---------------------------------------------------------- */

struct lack {
	const char *counter, *member, *text;
};

static const struct lack lacks[] = {
	{"regions_unended", "unended",
	 "last hits of marks are not in these rows: no next one ended them"},
	{"regions_too_deep", "too_deep",
	 "passes were not measured, since too many others of their threads were open"},
	{"regions_taken_off", "taken_off", NULL}, /* the header names these regions */
};

#define N_LACKS (sizeof(lacks) / sizeof(*lacks))

/* Passes that did not return: they are in the rows. */
static const struct lack left = {"regions_left", "left", NULL};

static uint64_t count_lack(const struct profile *profile, const struct lack *lack)
{
	uint64_t count = 0;

	report_header_counter(profile_tables(profile), lack->counter, &count);
	return count;
}

static void put_lacks(const struct profile *profile, struct buf *b)
{
	for (size_t i = 0; i < N_LACKS; i++) {
		uint64_t count = count_lack(profile, &lacks[i]);

		if (count && lacks[i].text)
			text_printf(b, "# note: %" PRIu64 " %s\n", count, lacks[i].text);
	}
}

static void json_lacks(const struct profile *profile, struct json *j)
{
	json_put_uint(j, left.member, count_lack(profile, &left));
	for (size_t i = 0; i < N_LACKS; i++)
		json_put_uint(j, lacks[i].member, count_lack(profile, &lacks[i]));
}

/* --- call paths ------------------------------------------------------------------------------ */

#define MOST_FRAMES 4096
#define LEFT_WORDS                                                                                 \
	"# left: of the visits, by an exception, longjmp() or the end of the thread; they end "    \
	"where\n#       the thread was next seen outside, and of their callers one is known\n"

/* Calls `put` for the callers of a path, root first; before these for the root mark, if the path
 * has one. */
static void put_callers(struct profile *profile, const struct region_path *path, void *to,
			void (*put)(void *to, const char *name, bool is_first))
{
	const struct store_tables *tables = profile_tables(profile);
	const struct profile_symbol *mark = profile_mark(profile, path->end_reason, path->origin);
	uint32_t nodes[MOST_FRAMES];
	size_t count = 0;
	bool is_first = !mark;

	if (mark)
		put(to, mark->name, true);
	for (uint32_t node = tables->nodes[path->node].parent; node && count < MOST_FRAMES;
	     node = tables->nodes[node].parent)
		nodes[count++] = node;
	while (count-- > 0) {
		size_t n;
		const struct profile_frame *frames =
			profile_location_frames(profile, tables->nodes[nodes[count]].location, &n);

		for (size_t i = 0; frames && i < n; i++, is_first = false)
			put(to, frames[i].symbol->name, is_first);
	}
}

static void put_text_name(void *to, const char *name, bool is_first)
{
	struct buf *b = to;

	if (!is_first)
		text_put_raw(b, ";");
	text_put(b, name, ";");
}

static void put_json_name(void *to, const char *name, bool is_first)
{
	(void)is_first;
	json_put_string(to, NULL, name);
}

/* --- text ------------------------------------------------------------------------------------ */

static void put_time(struct buf *b, uint64_t ns)
{
	char amount[METRIC_AMOUNT_MAX];

	text_printf(b, " %10s", metric_amount(METRIC_REGION_TIME, ns, amount));
}

/* Appends a number of bytes; with `at_most`, a part of it is only an upper limit, the size of
 * buffers. */
static void put_amount(struct buf *b, uint64_t bytes, bool at_most)
{
	char amount[METRIC_AMOUNT_MAX], text[METRIC_AMOUNT_MAX + 2];

	snprintf(text, sizeof(text), "%s%s", at_most ? "<=" : "",
		 metric_number(METRIC_MPI_SENT, bytes, amount));
	text_printf(b, " %13s", text);
}

/* Appends the bytes sent and received, and with them the bytes per second of the time in the
 * region. */
static void put_bytes(struct buf *b, const struct region_figures *f, const struct columns *columns)
{
	char rate[METRIC_AMOUNT_MAX];

	put_amount(b, f->sent, false);
	put_amount(b, f->received, f->at_most && f->received);
	if (columns->files) {
		put_amount(b, f->read, f->at_most && f->read);
		put_amount(b, f->written, false);
	}
	if (f->unknown)
		text_printf(b, " %13s", "not all known");
	else
		text_printf(b, " %11s/s",
			    metric_number(METRIC_MPI_SENT, bandwidth(f, all_bytes(f)), rate));
}

static void put_figures(const struct profile *profile, const struct region_figures *f,
			uint32_t n_threads, bool is_off, const struct columns *columns,
			struct buf *b)
{
	char share[TEXT_SHARE_MAX];

	if (is_off)
		text_printf(b, "%9" PRIu64 "+", f->visits); /* and those that nobody counted */
	else
		text_printf(b, "%10" PRIu64, f->visits);
	if (columns->left)
		text_printf(b, " %8" PRIu64, f->left);
	put_time(b, f->total_ns);
	put_time(b, f->own_ns);
	put_time(b, f->cpu_ns);
	put_time(b, mean(f));
	if (has_single(f) || !f->visits) {
		put_time(b, least(f));
		put_time(b, f->most_ns);
	} else {
		text_printf(b, " %10s %10s", "-", "-");
	}
	text_printf(b, " %5s%%",
		    text_share(f->total_ns, time_of_threads(profile, n_threads), share));
	if (columns->bytes)
		put_bytes(b, f, columns);
	text_put_raw(b, "  ");
}

static int write_row(struct buf *b, const struct report_options *options, FILE *out)
{
	text_cut(b, options->width);
	text_put_raw(b, "\n");
	return text_flush(b, out);
}

/* Returns the standard error of the estimated part. */
static double error_of(const struct region_figures *f)
{
	return sqrt(f->estimated_variance);
}

/* Appends how much of a path's time is an estimate. */
static void put_estimate(const struct region_figures *f, struct buf *b)
{
	char ns[METRIC_AMOUNT_MAX], error[METRIC_AMOUNT_MAX];

	if (f->estimated_ns)
		text_printf(
			b, "  (%s +- %s is estimated)",
			metric_number(METRIC_REGION_TIME, f->estimated_ns, ns),
			metric_number(METRIC_REGION_TIME, (uint64_t)(error_of(f) + 0.5), error));
}

/* If a region's probes were taken off, appends since when, and how much of its time is an
 * estimate. */
static void put_off(const struct profile *profile, const struct region_rows *rows,
		    const struct region_row *row, struct buf *b)
{
	const struct store_tables *tables = profile_tables(profile);
	const uint64_t start = tables->recording.start_ns;
	char ns[METRIC_AMOUNT_MAX], error[METRIC_AMOUNT_MAX];

	if (!row->is_off)
		return;
	if (tables->n_recordings > 1)
		text_put_raw(b, "  (counted for a part of the time; ");
	else if (row->off_ns > start)
		text_printf(b, "  (counted until %.1f s; ", (double)(row->off_ns - start) / 1e9);
	else
		text_put_raw(b, "  (not counted; ");
	if (rows->is_estimated && !row->figures.estimated_ns)
		text_put_raw(b, "no sample has it since then; later visits are not counted)");
	else if (rows->is_estimated)
		text_printf(b,
			    "%s +- %s of the time is estimated from samples since then; later "
			    "visits are not counted)",
			    metric_number(METRIC_REGION_TIME, row->figures.estimated_ns, ns),
			    metric_number(METRIC_REGION_TIME,
					  (uint64_t)(error_of(&row->figures) + 0.5), error));
	else
		text_put_raw(b, "no estimate of the rest: the samples are of no clock)");
}

static int write_region(struct profile *profile, const struct region_rows *rows,
			const struct region_row *row, const struct report_options *options,
			struct buf *b, FILE *out)
{
	const struct columns columns = columns_of(rows);
	int err;

	put_figures(profile, &row->figures, row->n_threads, row->is_off, &columns, b);
	treeview_function(b, row->name, row->symbol->kind, options);
	treeview_object(b, text_basename(row->symbol->object), options);
	put_off(profile, rows, row, b);
	err = write_row(b, options, out);
	for (uint32_t i = row->first; !err && i < row->first + row->count; i++) {
		const struct region_path *path = &rows->paths.items[i];

		put_figures(profile, &path->figures, path->n_threads, row->is_off, &columns, b);
		text_put_raw(b, "  ");
		put_callers(profile, path, b, put_text_name);
		put_estimate(&path->figures, b);
		err = write_row(b, options, out);
	}
	return err;
}

static int write_part(const struct view *v, uint32_t part, const struct report_options *options,
		      struct buf *b, FILE *out)
{
	text_put_raw(b, "\n");
	partition_put_name(&v->partition, part, options->utf8, b);
	return write_row(b, options, out);
}

static void put_head(const struct columns *columns, struct buf *b)
{
	text_printf(b,
		    "\n#   visits%s      total        own        CPU       mean      "
		    "least       most  share%s%s%s  region, and below it its callers\n"
		    "# share: of the time of the threads that passed through\n",
		    columns->left ? "     left" : "",
		    columns->bytes ? "          sent      received" : "",
		    columns->files ? "          read       written" : "",
		    columns->bytes ? "     bandwidth" : "");
	if (columns->left)
		text_put_raw(b, LEFT_WORDS);
	if (columns->at_most)
		text_put_raw(b, "# <=: of some calls it is the size of the buffer, since no status "
				"told how much arrived\n");
}

int region_view_text(struct profile *profile, const struct report_options *options, FILE *out)
{
	struct columns columns;
	struct view v;
	struct buf b = {0};
	int err = make_view(profile, options->by, &v);

	columns = columns_of(&v.rows);
	if (!err)
		err = report_header_text(profile, options, out);
	if (!err) {
		put_lacks(profile, &b);
		put_head(&columns, &b);
		err = text_flush(&b, out);
	}
	for (size_t i = 0; !err && i < v.rows.regions.count; i++) {
		const struct region_row *row = &v.rows.regions.items[i];

		if (begins_part(&v, i))
			err = write_part(&v, row->part, options, &b, out);
		if (!err)
			err = write_region(profile, &v.rows, row, options, &b, out);
	}
	free_view(&v);
	return text_end(&b, out, err);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void json_figures(const struct profile *profile, const struct region_figures *f,
			 uint32_t n_threads, struct json *j)
{
	json_put_uint(j, "visits", f->visits);
	json_put_uint(j, "left", f->left);
	json_put_uint(j, "total_ns", f->total_ns);
	json_put_uint(j, "own_ns", f->own_ns);
	json_put_uint(j, "cpu_ns", f->cpu_ns);
	json_put_uint(j, "mean_ns", mean(f));
	json_put_uint(j, "min_ns", least(f));
	json_put_uint(j, "max_ns", f->most_ns);
	json_put_uint(j, "threads", n_threads);
	json_put_uint(j, "threads_ns", time_of_threads(profile, n_threads));
	json_put_uint(j, "sent_bytes", f->sent);
	json_put_uint(j, "received_bytes", f->received);
	json_put_uint(j, "unknown_calls", f->unknown);
	json_put_uint(j, "bytes_per_second", bandwidth(f, all_bytes(f)));
	json_put_uint(j, "read_bytes", f->read);
	json_put_uint(j, "written_bytes", f->written);
	json_put_uint(j, "at_most_bytes", f->at_most);
}

/* Writes how much of the time is an estimate; null if the region's probes were taken off and there
 * are no samples from which to estimate its later time. */
static void json_estimate(const struct region_figures *f, bool is_known, struct json *j)
{
	if (is_known) {
		json_put_uint(j, "estimated_ns", f->estimated_ns);
		json_put_fixed(j, "estimated_error_ns", error_of(f), 0);
	} else {
		json_put_null(j, "estimated_ns");
		json_put_null(j, "estimated_error_ns");
	}
}

static void json_path(struct profile *profile, const struct region_path *path, bool is_known,
		      struct json *j)
{
	json_put_line(j);
	json_put_object(j, NULL);
	json_figures(profile, &path->figures, path->n_threads, j);
	json_estimate(&path->figures, is_known, j);
	json_put_array(j, "callers");
	put_callers(profile, path, j, put_json_name);
	json_put_end(j);
	json_put_end(j);
}

static void json_region(struct profile *profile, const struct view *v, const struct region_row *row,
			struct json *j)
{
	const bool is_known = !row->is_off || v->rows.is_estimated;

	json_put_line(j);
	json_put_object(j, NULL);
	if (v->partition.by != PARTITION_BY_ALL)
		partition_json(&v->partition, row->part, j);
	json_put_string(j, "name", row->name);
	json_put_string(j, "object", row->symbol->object);
	json_figures(profile, &row->figures, row->n_threads, j);
	json_estimate(&row->figures, is_known, j);
	json_put_array(j, "paths");
	for (uint32_t i = 0; !j->err && i < row->count; i++)
		json_path(profile, &v->rows.paths.items[row->first + i], is_known, j);
	json_put_end(j);
	json_put_end(j);
}

int region_view_json(struct profile *profile, const struct report_options *options, FILE *out)
{
	struct view v;
	struct json j = {.out = out};
	int err = make_view(profile, options->by, &v);

	report_header_begin_json(profile, &j);
	json_put_string(&j, "view", "regions");
	json_put_string(&j, "by", partition_word(options->by));
	json_lacks(profile, &j);
	json_put_array(&j, "regions");
	for (size_t i = 0; !err && !j.err && i < v.rows.regions.count; i++)
		json_region(profile, &v, &v.rows.regions.items[i], &j);
	free_view(&v);
	return json_put_finish(&j, err);
}
