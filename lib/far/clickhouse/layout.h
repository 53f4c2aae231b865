/* SPDX-License-Identifier: MIT */
/*
 * The tables of a fleet's database: those of rows/rows_schema.h, one of windows, and one of what
 * these have in all.
 *
 * A window counts if it has a row in `windows`, which is written after all its samples. These have
 * the number of the push that they came by, as the window's row has: what a push that was cut off
 * has left belongs to none. A window that was pushed twice, or again when it had grown, has two
 * rows, of which the one with the latest end counts, and among equals that with the least number.
 *
 * In a cluster the samples are shared out by their tag: `samples` is Distributed, above a table
 * `samples_shard` of each server. The other tables are whole on each server: they are small, a path
 * is of no use without all its ancestors, and what a shard that is away would have had is known by
 * the others.
 */
#ifndef CLICKHOUSE_LAYOUT_H
#define CLICKHOUSE_LAYOUT_H

#include "clickhouse/clickhouse.h"
#include "rows/rows_schema.h"

/* In the order in which they are written. */
enum {
	LAYOUT_TOTALS = ROWS_TABLES, /* of each push and metric: the sums of its samples */
	LAYOUT_WINDOWS,
	LAYOUT_WRITTEN,		       /* of so many tables a push has rows */
	LAYOUT_SHARD = LAYOUT_WRITTEN, /* of samples, in a cluster */
	LAYOUT_TABLES
};

enum layout_total_column {
	LAYOUT_TOTAL_PUSH,
	LAYOUT_TOTAL_HOST,
	LAYOUT_TOTAL_START,
	LAYOUT_TOTAL_METRIC,
	LAYOUT_TOTAL_WEIGHT,
	LAYOUT_TOTAL_COUNT,
	LAYOUT_TOTAL_N
};

enum layout_window_column {
	LAYOUT_HOST,
	LAYOUT_WINDOW,
	LAYOUT_PUSH,
	LAYOUT_START,
	LAYOUT_START_NS,
	LAYOUT_END_NS,
	LAYOUT_FINISHED,
	LAYOUT_EVENT,
	LAYOUT_TARGET,
	LAYOUT_KERNEL,
	LAYOUT_SAMPLES,
	LAYOUT_LOST,
	LAYOUT_WINDOW_N
};

#define LAYOUT_MAX_COLUMNS (ROWS_MAX_COLUMNS + 1)

/* Returns a table with all its columns: those of rows first. */
const struct rows_schema *layout_schema(int table);

/* Finds of which cluster the database's samples are, *ret_cluster: NULL if of none, or if there are
 * none yet; the caller frees it. 0; -EINVAL: they are Distributed in another way than ours;
 * -ENOMEM; or an error of clickhouse_ask(). The sentence is in clickhouse_error(). */
int layout_cluster(struct clickhouse *c, char **ret_cluster);

/* Makes the tables that are not there, for one server alone or as one of a cluster (NULL: alone),
 * and sees whether those that are have this layout. 0; -EINVAL: they have another one; or an error
 * of clickhouse_ask(). The sentence is in clickhouse_error(). */
int layout_ensure(struct clickhouse *c, const char *cluster);

/* Sees whether the tables are there, and have this layout; makes none. *ret_is_cluster is whether
 * samples may be on other servers, too. Errors as above; -EINVAL also for a table that is not
 * there.
 */
int layout_check(struct clickhouse *c, bool *ret_is_cluster);

/* Appends "INSERT INTO table (columns) FORMAT RowBinary", with a final NUL. */
void layout_put_insert(int table, struct buf *b);

/* Appends a row as RowBinary has it: one value for each of the table's columns. */
void layout_put_row(int table, const struct rows_value *values, struct buf *b);

#endif
