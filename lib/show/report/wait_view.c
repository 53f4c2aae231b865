/* SPDX-License-Identifier: MIT */
/*
 * Writes single waits; see wait_view.h. A row is a record: the time that a thread was blocked, or
 * that it was runnable after that.
 *
 *         begin          end     duration  state     thread      what for  who ended it  call path
 *      1.000000     2.100000      1.100 s  blocked   prog (21)   [futex]   other: main   main;work
 *
 * Times are since the recording's start. In a range a row shows the part of the wait that is within
 * the range: '<' before the begin, or '>' after the end, means that the range cut the wait there.
 *
 * Recordings mostly have only a sample of the waits; then a note above the rows says so. JSON has
 * an unbiased estimate of the number of all waits: the sum of 1 / p over the recorded waits, each
 * of which was kept with its probability p.
 */
#include "report/wait_view.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/text.h"
#include "model/waits.h"
#include "model/waker_name.h"
#include "report/report_header.h"
#include "report/treeview.h"

struct row {
	const struct wait *wait;
	uint64_t begin_ns, end_ns; /* the part of the wait that lies in the selected time */
	size_t index;		   /* index of the wait in its lane */
	bool is_runnable;
};

struct view {
	struct profile *profile;
	const struct store_tables *tables;
	struct waits waits;
	VEC(struct row) rows; /* in the order in which they are shown */
	size_t n_shown;
	uint64_t from_ns, to_ns; /* the selected time, CLOCK_MONOTONIC */
	/* the largest mean distance with which waits were sampled, in ns; 0: all waits were
	 * recorded */
	uint64_t mean_ns;
	double there_were; /* the estimated number of waits, recorded or not */
	double variance;   /* of that estimate */
	bool has_wakers;
};

/* Columns that names are padded to. */
#define THREAD_WIDTH 22
#define REASON_WIDTH 16
#define WAKER_WIDTH  24

/* --- rows ------------------------------------------------------------------------------------- */

static int add_row(struct view *v, const struct wait *wait, size_t index, bool is_runnable)
{
	struct row row = {.wait = wait,
			  .begin_ns = wait->begin_ns > v->from_ns ? wait->begin_ns : v->from_ns,
			  .end_ns = wait->end_ns < v->to_ns ? wait->end_ns : v->to_ns,
			  .index = index,
			  .is_runnable = is_runnable};

	if (!wait->is_chosen)
		return 0;
	if (VEC_RESERVE(&v->rows, 1) < 0)
		return -ENOMEM;
	v->rows.items[v->rows.count++] = row;
	v->there_were += wait->kept_of;
	v->variance += wait->kept_of * (wait->kept_of - 1);
	return 0;
}

static int compare_begins(const struct row *x, const struct row *y)
{
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->wait->record.thread != y->wait->record.thread)
		return x->wait->record.thread < y->wait->record.thread ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int by_time(const void *a, const void *b)
{
	return compare_begins(a, b);
}

static int by_duration(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	const uint64_t durations[] = {x->end_ns - x->begin_ns, y->end_ns - y->begin_ns};

	if (durations[0] != durations[1])
		return durations[0] > durations[1] ? -1 : 1;
	return compare_begins(x, y);
}

static int take_mean(void *arg, const struct store_sample *record)
{
	struct view *v = arg;

	v->mean_ns = record->period > v->mean_ns ? record->period : v->mean_ns;
	return 0;
}

static int add_rows(struct view *v)
{
	const enum metric metric = profile_filter(v->profile)->metric;
	int err = 0;

	for (uint32_t i = 0; !err && i < v->waits.n_threads; i++) {
		const struct wait_lane *lane = &v->waits.lanes[i];

		v->has_wakers |= lane->wakings.count != 0;
		for (size_t k = 0;
		     !err && metric != METRIC_WAIT_RUNNABLE && k < lane->blocked.count; k++)
			err = add_row(v, &lane->blocked.items[k], k, false);
		for (size_t k = 0;
		     !err && metric != METRIC_WAIT_BLOCKED && k < lane->runnable.count; k++)
			err = add_row(v, &lane->runnable.items[k], k, true);
	}
	return err;
}

/* Sets v->rows to the first rows in the order of the options, as many as are shown. Returns 0 or an
 * error. The caller frees the view in any case. */
static int make_view(struct profile *profile, const struct report_options *options, struct view *v)
{
	const struct store_recording *r = &profile_tables(profile)->recording;
	const uint64_t begin = profile_begin(profile), last = profile_end(profile);
	int err;

	*v = (struct view){.profile = profile, .tables = profile_tables(profile)};
	v->from_ns = begin > r->start_ns ? begin : r->start_ns;
	v->to_ns = last == UINT64_MAX ? UINT64_MAX : last + 1;
	err = waits_make(profile, profile_filter(profile)->metric != METRIC_WAIT_BLOCKED,
			 &v->waits);
	if (!err)
		err = store_reader_all_records(profile_reader(profile), SERIES_WAIT_MEAN, take_mean,
					       v);
	if (!err)
		err = add_rows(v);
	if (!err && v->rows.count)
		qsort(v->rows.items, v->rows.count, sizeof(*v->rows.items),
		      options->by_time ? by_time : by_duration);
	v->n_shown = v->rows.count;
	if (options->top && options->top < v->n_shown)
		v->n_shown = options->top;
	return err;
}

static void free_view(struct view *v)
{
	free(v->rows.items);
	waits_free(&v->waits);
}

static const struct store_thread *thread_of(const struct view *v, const struct row *row)
{
	return &v->tables->threads[row->wait->record.thread];
}

static int32_t pid_of(const struct view *v, const struct store_thread *thread)
{
	return v->tables->processes[thread->process].pid;
}

/* Returns the wake-up that ended a wait; NULL: the row is a runnable time, or the wake-up is
 * unknown. */
static const struct waking *waking_of(const struct view *v, const struct row *row)
{
	return row->is_runnable
		       ? NULL
		       : waits_waking(&v->waits.lanes[row->wait->record.thread], row->index);
}

static bool began_before(const struct row *row)
{
	return row->wait->begin_ns < row->begin_ns;
}

static bool goes_on(const struct row *row)
{
	return row->wait->end_ns > row->end_ns;
}

static double since_start(const struct view *v, uint64_t ns)
{
	return ((double)ns - (double)v->tables->recording.start_ns) / 1e9;
}

/* --- names ------------------------------------------------------------------------------------ */

/* A path, shaped by the filter: its functions are [0, reason); from `reason` on come why the thread
 * waited, and for which object. */
struct names {
	const struct profile_frame *frames; /* valid until the profile makes the next path */
	size_t n, reason;
};

static int names_of(const struct view *v, const struct row *row, struct names *ret_names)
{
	const struct store_sample *s = &row->wait->record;
	size_t depth;

	ret_names->frames =
		profile_frames(v->profile, s->node, s->end_reason, s->origin, &ret_names->n);
	if (!ret_names->frames)
		return -ENOMEM;
	depth = profile_wait_depth(ret_names->frames, ret_names->n);
	ret_names->reason = depth ? depth - 1 : ret_names->n;
	return 0;
}

/* Appends names as a terminal shows them, with a separator between them. */
static void put_names(const struct names *names, size_t from, size_t to, const char *between,
		      const struct report_options *options, struct buf *b)
{
	for (size_t i = from; i < to; i++) {
		if (i > from)
			text_put_raw(b, between);
		treeview_function(b, names->frames[i].symbol->name, names->frames[i].symbol->kind,
				  options);
	}
}

static int put_waker(const struct view *v, const struct row *row, bool utf8, struct buf *b)
{
	const struct waking *waking = waking_of(v, row);
	struct buf name = {0};
	int err;

	if (!waking)
		return 0;
	if (waking->value == WAKER_OF_INTERRUPT) {
		text_put_raw(b, "an interrupt");
		return 0;
	}
	err = waker_name(v->profile, waits_waker(&v->waits, waking), waking, &name);
	buf_put_u8(&name, '\0');
	err = err || !name.failed ? err : -ENOMEM;
	if (!err)
		text_put_name(b, (const char *)name.data, utf8);
	buf_free(&name);
	return err;
}

/* --- notes beside the rows ----------------------------------------------------------- */

struct beside {
	uint64_t short_waits, short_ns, lost;
};

static struct beside beside_of(const struct view *v)
{
	static const char *const lost[] = {"waits_lost_ring", "waits_without_path",
					   "waits_without_scratch", "waits_no_memory"};
	struct beside beside = {0};
	uint64_t value;

	report_header_counter(v->tables, "waits_short", &beside.short_waits);
	report_header_counter(v->tables, "waits_short_ns", &beside.short_ns);
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++)
		if (report_header_counter(v->tables, lost[i], &value))
			beside.lost += value;
	return beside;
}

/* Returns the duration at which 99 of 100 waits are recorded. */
static uint64_t nearly_all_ns(const struct view *v)
{
	return (uint64_t)((double)v->mean_ns * log(100));
}

static int put_notes(const struct view *v, const struct report_options *options, struct buf *b)
{
	const struct beside beside = beside_of(v);
	char mean[METRIC_AMOUNT_MAX], all[METRIC_AMOUNT_MAX];
	uint64_t ended;

	if (v->mean_ns)
		text_printf(
			b,
			"# note: waits are sampled, one in %s of a thread's waiting time: 99 of "
			"100 waits of %s or longer are listed, and fewer of shorter ones\n",
			metric_number(METRIC_WAIT, v->mean_ns, mean),
			metric_number(METRIC_WAIT, nearly_all_ns(v), all));
	if (v->mean_ns && report_header_counter(v->tables, "waits_ended", &ended))
		text_printf(b,
			    "# note: %" PRIu64
			    " wait%s of the whole recording ended, as the kernel "
			    "half counted them\n",
			    ended, text_plural(ended, "", "s"));
	if (beside.short_waits)
		text_printf(b,
			    "# note: %" PRIu64 " short wait%s of the whole recording, %s, only "
			    "counted (--wait=MIN)\n",
			    beside.short_waits, text_plural(beside.short_waits, "", "s"),
			    metric_number(METRIC_WAIT, beside.short_ns, all));
	if (beside.lost)
		text_printf(b, "# note: %" PRIu64 " wait%s of the whole recording lost\n",
			    beside.lost, text_plural(beside.lost, "", "s"));
	text_printf(b, "# shown: %zu of %zu wait%s, %s first\n\n", v->n_shown, v->rows.count,
		    text_plural(v->rows.count, "", "s"),
		    options->by_time ? "the earliest" : "the longest");
	return b->failed ? -ENOMEM : 0;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Pads a column that begins at `start` of the buffer to `width`, and appends two blanks. */
static void fill_up(struct buf *b, size_t start, size_t width)
{
	while (b->len - start < width && !b->failed)
		buf_put_u8(b, ' ');
	text_put_raw(b, "  ");
}

static void put_columns(const struct view *v, struct buf *b)
{
	text_printf(b, "#      begin          end     duration  state     %-*s  %-*s  ",
		    THREAD_WIDTH, "thread", REASON_WIDTH, "what for");
	if (v->has_wakers)
		text_printf(b, "%-*s  ", WAKER_WIDTH, "who ended it");
	text_put_raw(b, "call path\n");
}

static int put_row(const struct view *v, const struct row *row,
		   const struct report_options *options, struct buf *b)
{
	const struct store_thread *thread = thread_of(v, row);
	char amount[METRIC_AMOUNT_MAX];
	struct names names;
	size_t start;
	int err = names_of(v, row, &names);

	if (err)
		return err;
	text_printf(b, "%c%12.6f %12.6f%c %11s  %-8s  ", began_before(row) ? '<' : ' ',
		    since_start(v, row->begin_ns), since_start(v, row->end_ns),
		    goes_on(row) ? '>' : ' ',
		    metric_number(METRIC_WAIT, row->end_ns - row->begin_ns, amount),
		    row->is_runnable ? "runnable" : "blocked");
	start = b->len;
	text_put_name(b, thread->comm, options->utf8);
	text_printf(b, " (%d)", thread->tid);
	fill_up(b, start, THREAD_WIDTH);
	start = b->len;
	put_names(&names, names.reason, names.n, " ", options, b);
	fill_up(b, start, REASON_WIDTH);
	start = b->len;
	err = put_waker(v, row, options->utf8, b);
	if (v->has_wakers)
		fill_up(b, start, WAKER_WIDTH);
	put_names(&names, 0, names.reason, ";", options, b);
	text_cut(b, options->width);
	text_put_raw(b, "\n");
	return err;
}

int wait_view_text(struct profile *profile, const struct report_options *options, FILE *out)
{
	struct view v;
	struct buf b = {0};
	int err = make_view(profile, options, &v);

	if (!err)
		err = report_header_text(profile, options, out);
	if (!err)
		err = put_notes(&v, options, &b);
	put_columns(&v, &b);
	for (size_t i = 0; !err && i < v.n_shown; i++) {
		err = text_flush(&b, out);
		if (!err)
			err = put_row(&v, &v.rows.items[i], options, &b);
	}
	if (!err)
		err = text_flush(&b, out);
	free_view(&v);
	return text_end(&b, out, err);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_names(const struct names *names, size_t from, size_t to, const char *key,
		       struct json *j)
{
	json_put_array(j, key);
	for (size_t i = from; i < to; i++)
		json_put_string(j, NULL, names->frames[i].symbol->name);
	json_put_end(j);
}

static int json_waker(const struct view *v, const struct row *row, struct json *j)
{
	const struct waking *waking = waking_of(v, row);
	struct buf name = {0};
	int err;

	if (!waking) {
		json_put_null(j, "waker");
		return 0;
	}
	json_put_object(j, "waker");
	if (waking->value == WAKER_OF_INTERRUPT) {
		json_put_string(j, "kind", "interrupt");
		json_put_end(j);
		return 0;
	}
	err = waker_name(v->profile, waits_waker(&v->waits, waking), waking, &name);
	json_put_string(j, "kind", "thread");
	json_put_uint(j, "tid", waking->value - 1);
	json_put_text(j, "name", &name);
	json_put_end(j);
	return err;
}

static void json_times(const struct view *v, const struct row *row, struct json *j)
{
	const uint64_t start_ns = v->tables->recording.start_ns;

	json_put_string(j, "state", row->is_runnable ? "runnable" : "blocked");
	json_put_int(j, "begin_ns", (int64_t)(row->begin_ns - start_ns));
	json_put_int(j, "end_ns", (int64_t)(row->end_ns - start_ns));
	json_put_uint(j, "duration_ns", row->end_ns - row->begin_ns);
	json_put_uint(j, "whole_ns", row->wait->end_ns - row->wait->begin_ns);
	json_put_bool(j, "began_before", began_before(row));
	json_put_bool(j, "goes_on", goes_on(row));
	json_put_uint(j, "stands_for_ns", row->wait->ns);
}

static int json_row(const struct view *v, const struct row *row, struct json *j)
{
	const struct store_thread *thread = thread_of(v, row);
	struct names names;
	int err = names_of(v, row, &names);

	if (err)
		return err;
	json_put_line(j);
	json_put_object(j, NULL);
	json_put_int(j, "pid", pid_of(v, thread));
	json_put_int(j, "tid", thread->tid);
	json_put_string(j, "comm", thread->comm);
	json_times(v, row, j);
	json_names(&names, names.reason, names.n, "what_for", j);
	json_names(&names, 0, names.reason, "path", j);
	err = json_waker(v, row, j);
	json_put_end(j);
	return err;
}

int wait_view_json(struct profile *profile, const struct report_options *options, FILE *out)
{
	struct view v;
	struct json j = {.out = out};
	struct beside beside;
	int err = make_view(profile, options, &v);

	beside = beside_of(&v);
	report_header_begin_json(profile, &j);
	json_put_string(&j, "view", "waits");
	json_put_uint(&j, "sampled_by_ns", v.mean_ns);
	json_put_uint(&j, "chosen", v.rows.count);
	json_put_fixed(&j, "estimated", v.there_were, 1);
	json_put_fixed(&j, "estimated_error", sqrt(v.variance), 1);
	json_put_uint(&j, "short", beside.short_waits);
	json_put_uint(&j, "short_ns", beside.short_ns);
	json_put_uint(&j, "lost_waits", beside.lost);
	json_put_array(&j, "waits");
	for (size_t i = 0; !err && !j.err && i < v.n_shown; i++)
		err = json_row(&v, &v.rows.items[i], &j);
	free_view(&v);
	return json_put_finish(&j, err);
}

/* --- CSV -------------------------------------------------------------------------------------- */

/* Writes names with semicolons between them; semicolons in a name are escaped. */
static void csv_names(const struct names *names, size_t from, size_t to, struct csv *c)
{
	struct buf text = {0};

	for (size_t i = from; i < to; i++) {
		if (i > from)
			text_put_raw(&text, ";");
		text_put(&text, names->frames[i].symbol->name, ";");
	}
	csv_text(c, &text);
}

static void csv_times(const struct view *v, const struct row *row, struct csv *c)
{
	csv_fixed(c, since_start(v, row->begin_ns), 9);
	csv_fixed(c, since_start(v, row->end_ns), 9);
	csv_uint(c, row->end_ns - row->begin_ns);
	csv_uint(c, row->wait->end_ns - row->wait->begin_ns);
	csv_uint(c, began_before(row));
	csv_uint(c, goes_on(row));
	csv_uint(c, row->wait->ns);
	csv_word(c, row->is_runnable ? "runnable" : "blocked");
}

static int csv_row(const struct view *v, const struct row *row, struct csv *c)
{
	const struct store_thread *thread = thread_of(v, row);
	struct buf waker = {0};
	struct names names;
	int err = put_waker(v, row, true, &waker);

	csv_times(v, row, c);
	csv_int(c, pid_of(v, thread));
	csv_int(c, thread->tid);
	csv_name(c, thread->comm);
	csv_text(c, &waker);
	if (!err)
		err = names_of(v, row, &names);
	if (err)
		return err;
	csv_names(&names, names.reason, names.n, c);
	csv_names(&names, 0, names.reason, c);
	return csv_end_row(c);
}

int wait_view_csv(struct profile *profile, const struct report_options *options, FILE *out)
{
	struct view v;
	struct csv c = {.out = out};
	int err = make_view(profile, options, &v);

	csv_head(&c, "begin_s,end_s,duration_ns,whole_ns,began_before,goes_on,stands_for_ns,state,"
		     "pid,tid,comm,waker,what_for,path");
	for (size_t i = 0; !err && i < v.n_shown; i++)
		err = csv_row(&v, &v.rows.items[i], &c);
	free_view(&v);
	return csv_finish(&c, err);
}
