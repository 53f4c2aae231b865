/* SPDX-License-Identifier: MIT */
/*
 * Deletes what is old, and what does not count; see upkeep.h.
 *
 * A push's number begins with its time in seconds, so a push that is still going on is not taken
 * for an interrupted one: a push of a window never takes a day. Numbers of version 1 are random;
 * they are left alone, by the time of the upgrade, and go with their day.
 */
#include "clickhouse/upkeep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "clickhouse/layout.h"

#define UPKEEP_PUSHES 1000 /* pushes that are deleted at once */

struct job {
	unsigned days;
	struct upkeep_done *done;
	struct buf pushes; /* their numbers, with commas between them */
};

/* Runs a query that is in a buffer, which is emptied. With `ret_answer`, asks for rows of text. */
static int run(struct clickhouse *c, struct buf *query, struct buf *ret_answer)
{
	int err;

	if (ret_answer)
		text_put_raw(query, " FORMAT TabSeparatedRaw");
	buf_put_u8(query, '\0');
	if (query->failed)
		err = clickhouse_fail(c, -ENOMEM, "out of memory");
	else if (ret_answer)
		err = clickhouse_ask(c, (const char *)query->data, NULL, ret_answer);
	else
		err = clickhouse_send(c, (const char *)query->data, NULL);
	buf_clear(query);
	if (ret_answer)
		buf_put_u8(ret_answer, '\0');
	return err == 0 && ret_answer && ret_answer->failed
		       ? clickhouse_fail(c, -ENOMEM, "out of memory")
		       : err;
}

/* Returns for how many days the rows of a table are kept. Paths and the like have days of UTC, and
 * an age is counted from the beginning of that day in the server's zone. East of UTC their windows
 * can be of the server's next day, the last of which are kept until the end of a day. */
static unsigned days_of(const struct job *job, int table)
{
	return job->days + (strcmp(layout_time_column(table), "day") == 0 ? 2 : 0);
}

/* Returns whether a table of a server ages; one that is distributed over the shards does not. */
static bool ages(const struct database *database, int table)
{
	return layout_time_column(table) &&
	       table != (database->is_cluster ? ROWS_SAMPLES : LAYOUT_SHARD);
}

/* --- by the server ---------------------------------------------------------------------------- */

/* Gives a table its TTL, unless it has it. Parts have one day each, and are deleted as a whole. */
static int set_ttl(struct clickhouse *c, struct job *job, int table)
{
	const char *name = layout_schema(table)->name;
	struct buf query = {0}, answer = {0};
	int err;

	text_printf(
		&query,
		"SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = "
		"'%s' AND position(engine_full, 'toIntervalDay(%u)') > 0",
		name, days_of(job, table));
	err = run(c, &query, &answer);
	if (err == 0 && answer.data[0] == '0') {
		text_printf(&query, "ALTER TABLE %s MODIFY SETTING ttl_only_drop_parts = 1", name);
		err = run(c, &query, NULL);
		text_printf(&query, "ALTER TABLE %s MODIFY TTL %s + toIntervalDay(%u)", name,
			    layout_time_column(table), days_of(job, table));
		err = err == 0 ? run(c, &query, NULL) : err;
	}
	job->done->is_set = true;
	buf_free(&query);
	buf_free(&answer);
	return err;
}

/* --- by us ------------------------------------------------------------------------------------ */

/* Deletes the days of a table that are too old. Partitions have the name of their day, and such
 * names have the order of the days. */
static int drop_days(struct clickhouse *c, struct job *job, int table)
{
	const char *name = layout_schema(table)->name;
	struct buf query = {0}, answer = {0};
	char *rest;
	int err;

	text_printf(&query,
		    "SELECT DISTINCT partition FROM system.parts WHERE database = "
		    "currentDatabase() AND table = '%s' AND active AND partition < "
		    "toString(today() - %u)",
		    name, days_of(job, table));
	err = run(c, &query, &answer);
	for (char *day = err == 0 ? strtok_r((char *)answer.data, "\n", &rest) : NULL;
	     err == 0 && day; day = strtok_r(NULL, "\n", &rest)) {
		if (strspn(day, "0123456789-") != strlen(day))
			continue;
		text_printf(&query, "ALTER TABLE %s DROP PARTITION '%s'", name, day);
		err = run(c, &query, NULL);
		job->done->days += err == 0;
	}
	buf_free(&query);
	buf_free(&answer);
	return err;
}

/* Lets a server's rows age. Windows go first: without them, samples do not count. */
static int age(struct clickhouse *c, const struct database *database, void *arg)
{
	static const int order[] = {LAYOUT_WINDOWS, LAYOUT_TOTALS, ROWS_SAMPLES,  LAYOUT_SHARD,
				    ROWS_LABELS,    ROWS_PATHS,	   ROWS_LOCATIONS};
	struct job *job = arg;
	int err = 0;

	for (size_t i = 0; err == 0 && i < sizeof(order) / sizeof(*order); i++)
		if (ages(database, order[i]))
			err = database->has_ttl ? set_ttl(c, job, order[i])
						: drop_days(c, job, order[i]);
	return err;
}

/* --- what does not count ---------------------------------------------------------------------- */

/* Finds pushes that have not counted for a day. */
static int find_pushes(struct clickhouse *c, struct job *job)
{
	struct buf query = {0};
	int err;

	text_put_raw(
		&query,
		"SELECT arrayStringConcat(groupArray(toString(push)), ', ') FROM (SELECT "
		"DISTINCT push FROM (SELECT push FROM samples GROUP BY push UNION ALL SELECT "
		"push FROM totals GROUP BY push UNION ALL SELECT push FROM windows) AS p WHERE "
		"push NOT IN (SELECT push FROM (SELECT push FROM windows ORDER BY end_ns DESC, "
		"push LIMIT 1 BY host, window) AS w) AND bitShiftRight(push, 32) < "
		"toUnixTimestamp(now()) - 86400 AND bitShiftRight(push, 32) > (SELECT "
		"toUnixTimestamp(min(at)) - 86400 FROM versions WHERE version = ");
	text_printf(&query, "%u) LIMIT %u) AS n", LAYOUT_VERSION, UPKEEP_PUSHES);
	err = run(c, &query, &job->pushes);
	if (err == 0)
		job->pushes.data[strcspn((const char *)job->pushes.data, "\n")] = '\0';
	for (const char *at = err == 0 ? (const char *)job->pushes.data : ""; *at; at++)
		job->done->pushes += *at == ',' || at == (const char *)job->pushes.data;
	buf_free(&query);
	return err;
}

static int delete_pushes(struct clickhouse *c, const struct database *database, void *arg)
{
	static const int tables[] = {LAYOUT_WINDOWS, LAYOUT_TOTALS, ROWS_SAMPLES, LAYOUT_SHARD};
	const struct job *job = arg;
	struct buf query = {0};
	int err = 0;

	for (size_t i = 0; err == 0 && i < sizeof(tables) / sizeof(*tables); i++) {
		if (!ages(database, tables[i]))
			continue;
		text_printf(&query, "ALTER TABLE %s DELETE WHERE push IN (",
			    layout_schema(tables[i])->name);
		text_put_raw(&query, (const char *)job->pushes.data);
		text_put_raw(&query, ")");
		err = run(c, &query, NULL);
	}
	buf_free(&query);
	return err;
}

int upkeep(struct cluster *cluster, unsigned days, struct upkeep_done *ret_done)
{
	struct job job = {.days = days, .done = ret_done};
	int err;

	*ret_done = (struct upkeep_done){0};
	err = cluster_each(cluster, age, &job);
	if (err == 0)
		err = find_pushes(cluster_asked(cluster), &job);
	if (err == 0 && ret_done->pushes)
		err = cluster_each(cluster, delete_pushes, &job);
	buf_free(&job.pushes);
	return err;
}
