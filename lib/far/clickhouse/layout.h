/* SPDX-License-Identifier: MIT */
/*
 * The tables of a fleet's database: those of rows/rows_schema.h, `windows` (a row for each window
 * of a recording), and `totals` (the sums of each window's samples).
 *
 * A window (recording) is valid if it has a row in `windows`, which is written after all its
 * samples. The row and the samples have the number of the push (transfer) that wrote them, so
 * samples of an interrupted push belong to no window. A window that was pushed twice, or again
 * after it had grown, has two rows. Then the row with the later end is valid; of equal ones, the
 * row with the lowest push number.
 *
 * In a cluster the samples are distributed by their tag: `samples` is a Distributed table over a
 * table `samples_shard` of each server. The other tables are complete on each server: they are
 * small, a path is useless without all its ancestors, and if a shard is down, the other servers
 * know what is missing.
 */
#ifndef CLICKHOUSE_LAYOUT_H
#define CLICKHOUSE_LAYOUT_H

#include "clickhouse/clickhouse.h"
#include "rows/rows_schema.h"

/* The tables, in the order in which they are written. */
enum {
	LAYOUT_TOTALS = ROWS_TABLES, /* the sums of the samples of each push and metric */
	LAYOUT_WINDOWS,
	LAYOUT_WRITTEN,		       /* the number of tables that a push writes */
	LAYOUT_SHARD = LAYOUT_WRITTEN, /* a server's part of the samples, in a cluster */
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

/* Finds the cluster over which the table of samples is distributed. *ret_cluster receives its name,
 * which the caller frees, or NULL if there is no cluster or no such table. Returns 0; -EINVAL: the
 * table is distributed in another way than layout_ensure() does it; -ENOMEM; or an error of
 * clickhouse_ask(). The sentence is in clickhouse_error(). */
int layout_cluster(struct clickhouse *c, char **ret_cluster);

/* Creates the missing tables, for a single server (`cluster` NULL) or for a server of a cluster,
 * and checks that existing tables have this layout. Returns 0; -EINVAL: they have another layout;
 * or an error of clickhouse_ask(). The sentence is in clickhouse_error(). */
int layout_ensure(struct clickhouse *c, const char *cluster);

/* Checks that the tables exist and have this layout, and creates none. *ret_is_cluster tells
 * whether samples may be on other servers, too. Errors as layout_ensure(); -EINVAL also if a table
 * is missing. */
int layout_check(struct clickhouse *c, bool *ret_is_cluster);

/* Appends "INSERT INTO table (columns) FORMAT RowBinary", with a final NUL. */
void layout_put_insert(int table, struct buf *b);

/* Appends a row in the format RowBinary: one value for each of the table's columns. */
void layout_put_row(int table, const struct rows_value *values, struct buf *b);

#endif
