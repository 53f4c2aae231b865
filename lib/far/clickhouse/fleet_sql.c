/* SPDX-License-Identifier: MIT */
/* Makes the SQL by which a fleet's database is read; see fleet_sql.h. */
#include "clickhouse/fleet_sql.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define DAY_NS	(86400 * UINT64_C(1000000000))
#define SPARE_S 3600 /* windows that the server would delete within that are left out */

/* Appends a string literal of SQL. With `is_like`, `text` is a pattern with * and ?, and the
 * literal is the pattern for LIKE. */
static void put_string(struct buf *b, const char *text, bool is_like)
{
	text_put_raw(b, "'");
	for (; *text; text++) {
		char c = *text;

		if (is_like && (c == '*' || c == '?')) {
			buf_put_u8(b, c == '*' ? '%' : '_');
			continue;
		}
		if (is_like && strchr("%_\\", c))
			text_put_raw(b, "\\\\"); /* a backslash for LIKE, as SQL has it */
		if (c == '\'' || c == '\\')
			buf_put_u8(b, '\\');
		buf_put_u8(b, (uint8_t)c);
	}
	text_put_raw(b, "'");
}

/* Appends a condition that a column is one of these names, to be used after other conditions.
 * `ending`: what a name may have behind it. */
static void put_names(const char *column, const struct fleet_names *names, const char *ending,
		      struct buf *b)
{
	for (size_t i = 0; i < names->n; i++) {
		text_printf(b, "%s%s LIKE ", i ? " OR " : " AND (", column);
		put_string(b, names->items[i], true);
		if (!*ending)
			continue;
		text_printf(b, " OR %s LIKE concat(", column);
		put_string(b, names->items[i], true);
		text_printf(b, ", '%s')", ending);
	}
	text_put_raw(b, names->n ? ") " : " ");
}

/* Appends a query of the sets of labels that have a label of this key. */
static void put_sets(const struct fleet *f, const char *key, const char *pattern, struct buf *b)
{
	text_put_raw(b, "(SELECT id FROM labels WHERE ");
	buf_put(b, f->days.data, f->days.len);
	text_put_raw(b, " AND key = ");
	put_string(b, key, false);
	if (*pattern) {
		text_put_raw(b, " AND value LIKE ");
		put_string(b, pattern, true);
	}
	text_put_raw(b, ")");
}

/* Appends a condition of samples for "NAME=PATTERN"; with an empty pattern for those without the
 * label. A thread without a label for the node is on that of its host's name. */
static void put_label(const struct fleet *f, const char *text, struct buf *b)
{
	const char *pattern = strchr(text, '=') + 1;
	char *key = strndup(text, (size_t)(pattern - 1 - text));
	const bool is_node = key && strcmp(key, "node") == 0;

	b->failed = b->failed || !key;
	if (b->failed)
		return;
	text_printf(b, " AND (label_set GLOBAL %sIN ", *pattern ? "" : "NOT ");
	put_sets(f, key, pattern, b);
	if (is_node && *pattern) {
		text_put_raw(b, " OR (host LIKE ");
		put_string(b, pattern, true);
		text_put_raw(b, " AND label_set GLOBAL NOT IN ");
		put_sets(f, key, "", b);
		text_put_raw(b, ")");
	} else if (is_node) {
		text_put_raw(b, " AND 0");
	}
	text_put_raw(b, ") ");
	free(key);
}

/* Makes the conditions that samples must meet besides being of the windows. */
static void put_filter(struct fleet *f)
{
	const struct fleet_query *q = f->query;

	put_names("command", &q->commands, "", &f->filter);
	put_names("ifNull(unit, '')", &q->units, ".service", &f->filter);
	for (size_t i = 0; i < q->with.n; i++)
		put_label(f, q->with.items[i], &f->filter);
	buf_put_u8(&f->filter, '\0');
}

/* A server deletes old rows of each table at other times, up to hours apart, so windows that are
 * old enough to be deleted can lack samples. */
void fleet_sql_windows(const struct fleet *f, struct buf *b)
{
	const struct fleet_query *q = f->query;

	text_put_raw(b, "(SELECT * FROM windows WHERE 1");
	if (f->database.keep_days)
		text_printf(b, " AND start > now() - toIntervalDay(%u) + %d", f->database.keep_days,
			    SPARE_S);
	if (q->from_unix_ns)
		text_printf(b, " AND end_ns > %" PRIu64, q->from_unix_ns);
	if (q->to_unix_ns)
		text_printf(b, " AND start_ns < %" PRIu64, q->to_unix_ns);
	put_names("host", &q->hosts, "", b);
	text_put_raw(b, "ORDER BY end_ns DESC, push LIMIT 1 BY host, window)");
}

/* Returns whether the metric is about samples of an event; then windows of other events are not
 * added to them. Times of waits, bytes and so on are the same with each event. */
bool fleet_sql_is_of_samples(const struct fleet *f)
{
	const struct metric_info *metric = metric_info(f->query->metric);

	return metric->series == SERIES_CPU || metric->has_samples;
}

/* Makes the condition that selects the samples of the chosen windows. Their push numbers alone
 * would be enough. But samples are ordered by time and host, so the server reads less if the
 * condition has the range of time and the hosts, too. With GLOBAL, the server of the URL sends the
 * numbers to the other servers of the cluster. */
static void put_pushes(struct fleet *f, uint64_t start_ns, uint64_t last_start_ns)
{
	struct buf *b = &f->pushes;

	text_printf(b, "start >= toDateTime(%" PRIu64 ") AND start <= toDateTime(%" PRIu64 ")",
		    start_ns / 1000000000, last_start_ns / 1000000000);
	put_names("host", &f->query->hosts, "", b);
	text_put_raw(b, "AND push GLOBAL IN (SELECT id FROM ids)");
	buf_put_u8(b, '\0');
}

void fleet_sql_all_days(struct fleet *f)
{
	buf_clear(&f->days);
	text_put_raw(&f->days, "1");
	f->is_all_days = true;
}

/* Makes the condition that selects rows of the days of the chosen windows. */
static void put_days(struct fleet *f, uint64_t start_ns, uint64_t last_start_ns)
{
	if (f->database.version < 2) {
		fleet_sql_all_days(f);
		return;
	}
	text_printf(&f->days, "day >= toDate(%" PRIu64 ") AND day <= toDate(%" PRIu64 ")",
		    start_ns / DAY_NS, last_start_ns / DAY_NS);
}

static const struct {
	enum fleet_label label;
	/* the column to group by, and the expression that reads it; 0 or '' means no label */
	const char *key, *value;
} columns[] = {
	{FLEET_HOST, "host", "host"},
	{FLEET_COMMAND, "command", "command"},
	{FLEET_UNIT, "unit", "ifNull(unit, '')"},
	{FLEET_CONTAINER, "container", "ifNull(container, '')"},
	{FLEET_RANK, "rank", "toUInt32(ifNull(rank + 1, 0))"},
};

#define COLUMNS (sizeof(columns) / sizeof(*columns))

/* Appends the condition that samples are of the metric; one that adds up others has those. */
void fleet_sql_metric(const struct fleet *f, struct buf *b)
{
	const struct metric_info *info = metric_info(f->query->metric);

	if (!info->is_union) {
		text_put_raw(b, "metric = ");
		put_string(b, metric_info(metric_summed(f->query->metric))->name, false);
		return;
	}
	text_put_raw(b, info->has_samples ? "metric IN ('cpu'" : "metric IN (''");
	for (unsigned i = 0; i < METRIC_COUNT; i++) {
		const struct metric_info *part = metric_info(i);

		if (part->is_union || metric_summed(i) != i ||
		    (part->series != info->series && part->series != info->also))
			continue;
		text_put_raw(b, ", ");
		put_string(b, part->name, false);
	}
	text_put_raw(b, ")");
}

/* Appends the columns by which sums are kept apart, as values or as keys of groups. */
static void put_labels(const struct fleet *f, bool is_key, struct buf *b)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		const bool is_wanted = f->query->labels & columns[i].label;

		if (is_key && !is_wanted)
			continue;
		text_put_raw(b, ", ");
		text_put_raw(b, is_key				 ? columns[i].key
				: is_wanted			 ? columns[i].value
				: columns[i].label == FLEET_RANK ? "toUInt32(0)"
								 : "''");
	}
}

/* Appends the table of samples; with a label to divide by, of sums whose column `label` has its
 * value. The samples are added up before, since a cluster's servers have them, and the labels are
 * on the server that is asked. */
static void put_samples(const struct fleet *f, struct buf *b)
{
	const char *by = f->query->by_label;

	if (by) {
		text_put_raw(b, "(SELECT tag, alt, reason, quality, inferred, label_set, host");
		put_labels(f, true, b);
		text_put_raw(b, ", sum(count) AS count, sum(weight) AS weight FROM ");
	}
	text_put_raw(b, "samples WHERE ");
	fleet_sql_metric(f, b);
	text_put_raw(b, " AND ");
	text_put_raw(b, f->pushes.failed ? "" : (const char *)f->pushes.data);
	text_put_raw(b, f->filter.failed ? "" : (const char *)f->filter.data);
	if (!by)
		return;
	text_put_raw(b, " GROUP BY tag, alt, reason, quality, inferred, label_set, host");
	put_labels(f, true, b);
	text_put_raw(
		b, ") AS s ANY LEFT JOIN (SELECT id AS label_set, any(value) AS label FROM labels "
		   "WHERE ");
	buf_put(b, f->days.data, f->days.len);
	text_put_raw(b, " AND key = ");
	put_string(b, by, false);
	text_put_raw(b, " GROUP BY id) AS l USING (label_set)");
}

uint32_t fleet_sql_most(const struct fleet *f)
{
	return f->query->labels & ~(unsigned)FLEET_COMMAND || f->query->by_label
		       ? 0
		       : f->query->most_paths;
}

void fleet_sql_whole(const struct fleet *f, struct buf *b)
{
	text_put_raw(b, "SELECT toUInt64(0), toUInt32(0), 'entry', 'complete', toUInt32(0)");
	put_labels(f, false, b);
	text_put_raw(b, ", '', sum(count), sum(weight) FROM ");
	put_samples(f, b);
	if (f->query->labels & FLEET_COMMAND)
		text_put_raw(b, " GROUP BY command");
}

/* The paths to keep are chosen by their tags alone, since grouping millions of them by texts as
 * well takes many times as long. */
void fleet_sql_sums(const struct fleet *f, struct buf *b)
{
	const char *by = f->query->by_label;
	/* as in put_label() */
	const char *label = by && strcmp(by, "node") == 0 ? "if(label = '', host, label)" : "label";

	text_put_raw(b, "SELECT tag, alt, reason, quality, inferred");
	put_labels(f, false, b);
	text_printf(b, ", %s AS value, sum(count), sum(weight) FROM ", by ? label : "''");
	put_samples(f, b);
	if (fleet_sql_most(f)) {
		text_put_raw(b, " AND tag GLOBAL IN (SELECT tag FROM ");
		put_samples(f, b);
		text_printf(b, " GROUP BY tag ORDER BY sum(count) DESC, tag LIMIT %" PRIu32 ")",
			    fleet_sql_most(f));
	}
	text_put_raw(b, " GROUP BY tag, alt, reason, quality, inferred");
	put_labels(f, true, b);
	text_put_raw(b, by ? ", value" : "");
}

void fleet_sql_choose(struct fleet *f, uint64_t start_ns, uint64_t last_start_ns)
{
	put_pushes(f, start_ns, last_start_ns);
	put_days(f, start_ns, last_start_ns);
	put_filter(f);
}
