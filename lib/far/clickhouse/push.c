/* SPDX-License-Identifier: MIT */
/*
 * Sends recordings to a fleet's database; see push.h.
 *
 * Rows of a window are made twice. The first time, paths and locations are only collected, and the
 * server is asked which of them it has. The second time, the new ones are sent, in pieces, so that
 * memory stays bounded: locations and paths before the samples that refer to them, then the totals,
 * and the window's own row at the end. What the server has is kept for the next window of the same
 * day, so only new paths and locations are in the query, because a service sends nearly the same
 * ones again and again.
 *
 * A push's number begins with its time, so that what was left behind by interrupted pushes can be
 * told from what is just being sent (clickhouse/upkeep.c).
 */
#include "clickhouse/push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/int_map.h"
#include "base/text.h"
#include "base/vec.h"
#include "clickhouse/chains.h"
#include "clickhouse/cluster.h"
#include "clickhouse/layout.h"
#include "rows/rows.h"

#define PUSH_PIECE  (8u << 20) /* bytes of one table that are sent at once */
#define PUSH_KIND   32	       /* size of the name of a kind of objects */
#define PUSH_METRIC 40	       /* size of the name of a metric */
#define PUSH_KNOWN  (1u << 20) /* paths and locations that are remembered, 50 MB or so */
#define DAY_NS	    (86400 * UINT64_C(1000000000))

/* The total of a metric in a window. */
struct total {
	char metric[PUSH_METRIC];
	uint64_t weight, count;
};

struct asked_path {
	uint64_t tag, parent, location;
	bool has_callee; /* one that is asked for, too */
};

struct push {
	struct clickhouse *c; /* also holds the sentence about a failure */
	struct cluster *cluster;
	/* has the paths and locations that the server is known to have; NULL: nothing is known */
	struct rows *rows;
	size_t most_paths;    /* of a metric of a window; 0: all */
	unsigned keep_days;   /* for which the server keeps windows; 0: not known, or for ever */
	uint64_t day;	      /* the day of these, since 1970 */
	uint64_t last;	      /* the window that was sent last; valid only if `rows` is not NULL */
	struct int_map ends;  /* windows that the server has -> index in `end_ns` */
	VEC(uint64_t) end_ns; /* the end of each of these windows */
	struct layout_rows pieces[LAYOUT_WRITTEN]; /* by table: rows that have not been sent yet */
	struct chains chains;			   /* likewise: paths, the others are in pieces */
	VEC(struct total) totals;		   /* sums by metric of the current window */
	/* by table: ids of the window's locations, or paths, for the query which of them the server
	 * has */
	struct buf ids[ROWS_TABLES];
	VEC(struct asked_path) asked; /* the window's paths that are not in `rows` */
	struct int_map asked_at;      /* tag of such a path -> index */
	uint64_t number; /* the number of the current push, which all its samples have */
	struct push_counts counts;
};

/* --- sending ---------------------------------------------------------------------------------- */

static int send_piece(struct push *push, int table)
{
	struct layout_rows *piece = &push->pieces[table];
	const struct buf *blocks = layout_end_rows(table, piece);
	struct buf query = {0};
	int err;

	if (blocks && !blocks->len)
		return 0;
	layout_put_insert(table, &query);
	err = !blocks || query.failed
		      ? -ENOMEM
		      : cluster_send(push->cluster, table, (const char *)query.data, blocks);
	if (err == 0)
		push->counts.bytes += blocks->len;
	layout_clear_rows(piece);
	buf_free(&query);
	return err;
}

static int send_chains(struct push *push)
{
	struct buf statement = {0};
	int err;

	if (!push->chains.count)
		return 0;
	chains_put_insert(&push->chains, push->day, &statement);
	err = statement.failed ? -ENOMEM : cluster_execute(push->cluster, &statement);
	if (err == 0)
		push->counts.bytes += statement.len;
	chains_clear(&push->chains);
	buf_free(&statement);
	return err;
}

/* Sends all rows that have not been sent yet, in the order of the tables. */
static int send_pieces(struct push *push)
{
	int err = 0;

	for (int table = 0; err == 0 && table < LAYOUT_WRITTEN; table++) {
		if (table == ROWS_PATHS)
			err = send_chains(push);
		if (err == 0)
			err = send_piece(push, table);
	}
	return err;
}

/* Adds a path to the chains. -EDOM: it must be sent as a row. Callers are sent before what they
 * call, and rows after chains, so behind a row there is no path for the chains. */
static int put_in_chain(struct push *push, const struct rows_value *values)
{
	if (values[ROWS_PATH_ALT].number || values[ROWS_PATH_PARENT_ALT].number ||
	    values[ROWS_PATH_LOCATION_ALT].number || layout_rows_bytes(&push->pieces[ROWS_PATHS]))
		return -EDOM;
	return chains_add(&push->chains, values[ROWS_PATH_TAG].number,
			  values[ROWS_PATH_PARENT].number, values[ROWS_PATH_LOCATION].number);
}

/* Adds a row of samples to the total of its metric. */
static int add_up(struct push *push, const struct rows_value *values)
{
	const char *metric = values[ROWS_SAMPLE_METRIC].text;
	size_t i = 0;
	int err;

	while (i < push->totals.count && strcmp(push->totals.items[i].metric, metric) != 0)
		i++;
	if (i == push->totals.count) {
		err = VEC_RESERVE(&push->totals, 1);
		if (err < 0)
			return err;
		push->totals.items[push->totals.count++] = (struct total){0};
		snprintf(push->totals.items[i].metric, PUSH_METRIC, "%s", metric);
	}
	push->totals.items[i].weight += values[ROWS_SAMPLE_WEIGHT].number;
	push->totals.items[i].count += values[ROWS_SAMPLE_COUNT].number;
	return 0;
}

static int put_row(void *arg, enum rows_table table, const struct rows_value *values)
{
	struct push *push = arg;
	struct layout_rows *piece = &push->pieces[table];
	struct rows_value all[LAYOUT_MAX_COLUMNS];
	const size_t n = rows_schema(table)->n_columns;
	int err = table == ROWS_SAMPLES ? add_up(push, values)
		  : table == ROWS_PATHS ? put_in_chain(push, values)
					: 0;

	if (table == ROWS_PATHS && err != -EDOM) {
		push->counts.rows += err == 0;
		return err == 0 && chains_are_full(&push->chains) ? send_pieces(push) : err;
	}
	if (err < 0 && table != ROWS_PATHS)
		return err;
	memcpy(all, values, n * sizeof(*values));
	all[n] = (struct rows_value){.number = table == ROWS_SAMPLES ? push->number : push->day};
	/* The same moment for all hosts, so that equal rows of several are merged. */
	if (table == ROWS_LOCATIONS)
		all[LAYOUT_LOCATION_NAMED_AT] = (struct rows_value){.number = push->day * DAY_NS};
	layout_put_row(table, all, piece);
	push->counts.rows++;
	return layout_rows_bytes(piece) < PUSH_PIECE ? 0 : send_pieces(push);
}

int push_new(struct clickhouse *c, size_t most_paths, struct push **ret_push)
{
	struct push *push = calloc(1, sizeof(*push));
	int err = push ? cluster_open(c, &push->cluster) : -ENOMEM;

	if (err < 0) {
		push_free(push);
		return err;
	}
	push->c = c;
	push->most_paths = most_paths;
	push->keep_days = cluster_keep_days(push->cluster);
	*ret_push = push;
	return 0;
}

void push_free(struct push *push)
{
	if (!push)
		return;
	rows_free(push->rows);
	int_map_fini(&push->ends);
	free(push->end_ns.items);
	free(push->totals.items);
	cluster_free(push->cluster);
	for (int i = 0; i < LAYOUT_WRITTEN; i++)
		layout_free_rows(&push->pieces[i]);
	for (int i = 0; i < ROWS_TABLES; i++)
		buf_free(&push->ids[i]);
	chains_free(&push->chains);
	free(push->asked.items);
	int_map_fini(&push->asked_at);
	free(push);
}

struct push_counts push_counts(const struct push *push)
{
	return push->counts;
}

int push_keep(struct push *push, unsigned days, struct upkeep_done *ret_done)
{
	push->keep_days = days;
	return upkeep(push->cluster, days, ret_done);
}

/* --- what the server has ---------------------------------------------------------------------- */

/* Reads an answer with rows "window, end" into push->ends. */
static int take_windows(struct push *push, const struct buf *answer)
{
	struct buf_reader r = buf_reader(answer->data, answer->len);
	int err = 0;

	while (err == 0 && buf_left(&r)) {
		uint64_t window, end;

		BUF_GET(&r, window);
		BUF_GET(&r, end);
		if (r.failed)
			return clickhouse_fail(push->c, -EPROTO, "the answer is cut");
		err = VEC_RESERVE(&push->end_ns, 1);
		if (err == 0)
			err = int_map_set(&push->ends, window, (uint32_t)push->end_ns.count);
		if (err == 0)
			push->end_ns.items[push->end_ns.count++] = end;
	}
	return err;
}

/* Forgets which paths and locations the server has. */
static void forget(struct push *push)
{
	rows_free(push->rows);
	push->rows = NULL;
}

int push_ask(struct push *push, const struct store_recording *recordings, size_t n)
{
	struct buf ids = {0}, answer = {0};
	int err;

	int_map_clear(&push->ends);
	push->end_ns.count = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t window = rows_window(&recordings[i]);

		BUF_PUT(&ids, window);
	}
	if (push->rows)
		BUF_PUT(&ids, push->last);
	err = ids.failed ? -ENOMEM
			 : cluster_ask(push->cluster,
				       "SELECT window, max(end_ns) FROM windows WHERE window IN "
				       "(SELECT id FROM ids) GROUP BY window FORMAT RowBinary",
				       &ids, &answer);
	if (err == 0)
		err = take_windows(push, &answer);
	/* Meanwhile another database may have taken this one's name. */
	if (err < 0 || int_map_find(&push->ends, push->last) == INT_MAP_NONE)
		forget(push);
	buf_free(&ids);
	buf_free(&answer);
	return err;
}

bool push_has(const struct push *push, const struct store_recording *recording)
{
	uint32_t at = int_map_find(&push->ends, rows_window(recording));

	if (push->keep_days &&
	    recording->start_unix_ns / DAY_NS + push->keep_days < clock_ns(CLOCK_REALTIME) / DAY_NS)
		return true;
	return at != INT_MAP_NONE && push->end_ns.items[at] >= store_range_end(recording);
}

static int take_locations(struct push *push, const struct buf *answer)
{
	struct buf_reader r = buf_reader(answer->data, answer->len);
	int err = 0;

	while (err == 0 && buf_left(&r)) {
		uint64_t id, file_id, offset;
		char kind[PUSH_KIND];
		uint32_t alt, named;

		BUF_GET(&r, id);
		BUF_GET(&r, alt);
		buf_get_string(&r, kind, sizeof(kind));
		BUF_GET(&r, file_id);
		BUF_GET(&r, offset);
		BUF_GET(&r, named);
		if (r.failed)
			return clickhouse_fail(push->c, -EPROTO, "the answer is cut");
		err = rows_know_location(push->rows, id, alt, kind, file_id, offset, named);
	}
	return err;
}

/* The server has a path as the window has it, so it has its callers: they are sent first. */
static int know_callers(struct push *push, uint64_t tag, uint64_t parent, uint64_t location)
{
	const struct asked_path *path;
	uint32_t at = int_map_find(&push->asked_at, tag);
	int err = 0;

	if (at == INT_MAP_NONE || push->asked.items[at].parent != parent ||
	    push->asked.items[at].location != location)
		return 0;
	while (err == 0 && (at = int_map_find(&push->asked_at, parent)) != INT_MAP_NONE) {
		path = &push->asked.items[at];
		parent = path->parent;
		err = rows_know_path(push->rows, path->tag, 0, parent, 0, path->location, 0);
	}
	return err;
}

static int take_paths(struct push *push, const struct buf *answer)
{
	struct buf_reader r = buf_reader(answer->data, answer->len);
	int err = 0;

	while (err == 0 && buf_left(&r)) {
		uint64_t tag, parent, location;
		uint32_t alt, parent_alt, location_alt;

		BUF_GET(&r, tag);
		BUF_GET(&r, alt);
		BUF_GET(&r, parent);
		BUF_GET(&r, parent_alt);
		BUF_GET(&r, location);
		BUF_GET(&r, location_alt);
		if (r.failed)
			return clickhouse_fail(push->c, -EPROTO, "the answer is cut");
		err = rows_know_path(push->rows, tag, alt, parent, parent_alt, location,
				     location_alt);
		if (err == 0 && !alt && !parent_alt && !location_alt)
			err = know_callers(push, tag, parent, location);
	}
	return err;
}

static int take_labels(struct push *push, const struct buf *answer)
{
	struct buf_reader r = buf_reader(answer->data, answer->len);
	int err = 0;

	while (err == 0 && buf_left(&r)) {
		uint64_t id;

		BUF_GET(&r, id);
		if (r.failed)
			return clickhouse_fail(push->c, -EPROTO, "the answer is cut");
		err = rows_know_labels(push->rows, id);
	}
	return err;
}

/* Notes a path, and that its caller has a callee. */
static int collect_path(struct push *push, const struct rows_value *values)
{
	const uint64_t tag = values[ROWS_PATH_TAG].number, parent = values[ROWS_PATH_PARENT].number;
	const uint32_t caller = int_map_find(&push->asked_at, parent);
	int err = VEC_RESERVE(&push->asked, 1);

	if (err == 0)
		err = int_map_set(&push->asked_at, tag, (uint32_t)push->asked.count);
	if (err < 0)
		return err;
	if (caller != INT_MAP_NONE)
		push->asked.items[caller].has_callee = true;
	push->asked.items[push->asked.count++] = (struct asked_path){
		.tag = tag, .parent = parent, .location = values[ROWS_PATH_LOCATION].number};
	return 0;
}

/* Puts the paths without callees among the ids: the server that has one has its callers, too. */
static void ask_for_ends(struct push *push)
{
	for (size_t i = 0; i < push->asked.count; i++)
		if (!push->asked.items[i].has_callee)
			BUF_PUT(&push->ids[ROWS_PATHS], push->asked.items[i].tag);
}

/* Collects the ids of those locations, paths and labels of a window that were in no query yet.
 * Returns 0 or -ENOMEM. */
static int collect(void *arg, enum rows_table table, const struct rows_value *values)
{
	struct push *push = arg;

	if (table == ROWS_SAMPLES || rows_has(push->rows, table, values))
		return 0;
	if (table == ROWS_PATHS)
		return collect_path(push, values);
	BUF_PUT(&push->ids[table], values[0].number);
	return push->ids[table].failed ? -ENOMEM : 0;
}

static int collect_ids(struct push *push, struct profile *profile)
{
	const struct rows_sink sink = {.row = collect, .arg = push, .most_paths = push->most_paths};
	struct rows *rows;
	int err = rows_new(&sink, &rows);

	if (err < 0)
		return err;
	for (int table = 0; table < ROWS_TABLES; table++)
		buf_clear(&push->ids[table]);
	push->asked.count = 0;
	int_map_clear(&push->asked_at);
	err = rows_add(rows, profile);
	rows_free(rows);
	ask_for_ends(push);
	return err == 0 && push->ids[ROWS_PATHS].failed ? -ENOMEM : err;
}

/* What the server is asked about the ids of a window, and who takes the answer. */
static const struct {
	enum rows_table table;
	const char *columns, *key, *group;
	int (*take)(struct push *push, const struct buf *answer);
} questions[] = {
	{ROWS_LOCATIONS, "id, alt, kind, file_id, offset, max(named)", "id",
	 " GROUP BY id, alt, kind, file_id, offset", take_locations},
	{ROWS_PATHS, "DISTINCT tag, alt, parent, parent_alt, location, location_alt", "tag", "",
	 take_paths},
	{ROWS_LABELS, "DISTINCT id", "id", "", take_labels},
};

/* Queries which of a window's locations, paths and labels the server has, and adds these to
 * push->rows. Returns 0 or an error. */
static int learn(struct push *push, struct profile *profile)
{
	struct buf query = {0}, answer = {0};
	int err = collect_ids(push, profile);

	for (size_t i = 0; err == 0 && i < sizeof(questions) / sizeof(*questions); i++) {
		const struct buf *ids = &push->ids[questions[i].table];

		if (!ids->len)
			continue;
		buf_clear(&query);
		text_printf(&query,
			    "SELECT %s FROM %s WHERE day = toDate(%u) AND %s IN (SELECT id FROM "
			    "ids)%s FORMAT RowBinary",
			    questions[i].columns, layout_schema(questions[i].table)->name,
			    (unsigned)push->day, questions[i].key, questions[i].group);
		buf_put_u8(&query, '\0');
		err = query.failed
			      ? -ENOMEM
			      : cluster_ask(push->cluster, (const char *)query.data, ids, &answer);
		if (err == 0)
			err = questions[i].take(push, &answer);
	}
	buf_free(&query);
	buf_free(&answer);
	return err;
}

/* --- windows ---------------------------------------------------------------------------------- */

/* Writes the row in `windows`, by which the window counts. */
static int put_window(struct push *push, const struct store_recording *r)
{
	struct buf text[4] = {0};
	const struct rows_value values[LAYOUT_WINDOW_N] = {
		[LAYOUT_HOST] = {.text = rows_text(&text[0], r->host ? r->host : "")},
		[LAYOUT_WINDOW] = {.number = rows_window(r)},
		[LAYOUT_PUSH] = {.number = push->number},
		[LAYOUT_START] = {.number = r->start_unix_ns},
		[LAYOUT_START_NS] = {.number = r->start_unix_ns},
		[LAYOUT_END_NS] = {.number = store_range_end(r)},
		[LAYOUT_FINISHED] = {.number = r->finished},
		[LAYOUT_EVENT] = {.text = rows_text(&text[1], r->event ? r->event : "")},
		[LAYOUT_TARGET] = {.text = rows_text(&text[2], r->target ? r->target : "")},
		[LAYOUT_KERNEL] = {.text = rows_text(&text[3], r->kernel ? r->kernel : "")},
		[LAYOUT_SAMPLES] = {.number = r->samples},
		[LAYOUT_LOST] = {.number = r->lost},
	};
	bool failed = false;

	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		failed = failed || text[i].failed;
	if (!failed)
		layout_put_row(LAYOUT_WINDOWS, values, &push->pieces[LAYOUT_WINDOWS]);
	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		buf_free(&text[i]);
	return failed ? -ENOMEM : 0;
}

/* Writes the rows of the window's totals. */
static int put_totals(struct push *push, const struct store_recording *r)
{
	struct buf host = {0};
	const char *name = rows_text(&host, r->host ? r->host : "");

	for (size_t i = 0; !host.failed && i < push->totals.count; i++) {
		const struct total *total = &push->totals.items[i];
		const struct rows_value values[LAYOUT_TOTAL_N] = {
			[LAYOUT_TOTAL_PUSH] = {.number = push->number},
			[LAYOUT_TOTAL_HOST] = {.text = name},
			[LAYOUT_TOTAL_START] = {.number = r->start_unix_ns},
			[LAYOUT_TOTAL_METRIC] = {.text = total->metric},
			[LAYOUT_TOTAL_WEIGHT] = {.number = total->weight},
			[LAYOUT_TOTAL_COUNT] = {.number = total->count},
		};

		layout_put_row(LAYOUT_TOTALS, values, &push->pieces[LAYOUT_TOTALS]);
	}
	buf_free(&host);
	return host.failed ? -ENOMEM : 0;
}

/* Draws the number of a push: its time in seconds, and 32 random bits. */
static int draw_number(struct push *push)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) < 0)
		return -errno;
	push->number = (clock_ns(CLOCK_REALTIME) / 1000000000) << 32 | random;
	return 0;
}

static int send_window(struct push *push, struct profile *profile)
{
	const struct store_recording *recording = &profile_tables(profile)->recording;
	int err = learn(push, profile);

	push->totals.count = 0;
	if (err == 0)
		err = draw_number(push);
	if (err == 0)
		err = rows_add(push->rows, profile);
	if (err == 0)
		err = send_pieces(push);
	if (err == 0)
		err = put_totals(push, recording);
	if (err == 0)
		err = put_window(push, recording);
	return err == 0 ? send_pieces(push) : err;
}

/* Makes push->rows if it does not exist, or anew if it has become too large, or is of another day
 * than the recording. Returns 0 or -ENOMEM. */
static int remember(struct push *push, const struct store_recording *recording)
{
	const struct rows_sink sink = {.row = put_row,
				       .arg = push,
				       .takes_better_names = true,
				       .most_paths = push->most_paths};
	const uint64_t day = recording->start_unix_ns / DAY_NS;

	if (push->rows && (rows_known(push->rows) > PUSH_KNOWN || day != push->day))
		forget(push);
	push->day = day;
	return push->rows ? 0 : rows_new(&sink, &push->rows);
}

int push_add(struct push *push, struct profile *profile)
{
	const struct push_counts before = push->counts;
	uint64_t collisions, rare;
	int err = remember(push, &profile_tables(profile)->recording);

	if (err < 0)
		return err;
	collisions = rows_counts(push->rows).collisions;
	rare = rows_counts(push->rows).rare;
	err = send_window(push, profile);
	if (err < 0) {
		push->counts = before;
		for (int i = 0; i < LAYOUT_WRITTEN; i++)
			layout_clear_rows(&push->pieces[i]);
		chains_clear(&push->chains);
		forget(push); /* some paths and locations in it may not have been sent */
	} else {
		push->counts.windows++;
		push->counts.collisions += rows_counts(push->rows).collisions - collisions;
		push->counts.rare += rows_counts(push->rows).rare - rare;
		push->last = rows_window(&profile_tables(profile)->recording);
	}
	return err;
}
