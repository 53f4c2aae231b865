/* SPDX-License-Identifier: MIT */
/*
 * The tables of a fleet's database: those of rows/rows_schema.h, and one of windows.
 *
 * A window counts if it has a row in `windows`, which is written after all its samples. These have
 * the number of the push that they came by, as the window's row has: what a push that was cut off
 * has left belongs to none. A window that was pushed twice, or again when it had grown, has two
 * rows, of which the one with the latest end counts, and among equals that with the least number.
 */
#ifndef CLICKHOUSE_LAYOUT_H
#define CLICKHOUSE_LAYOUT_H

#include "clickhouse/clickhouse.h"
#include "rows/rows_schema.h"

enum { LAYOUT_WINDOWS = ROWS_TABLES, LAYOUT_TABLES };

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

/* Which pushes count, as SQL: a query with one column. */
#define LAYOUT_PUSHES                                                                              \
	"SELECT push FROM (SELECT push FROM windows ORDER BY end_ns DESC, push LIMIT 1 BY host, "  \
	"window)"

/* Returns a table with all its columns: those of rows first. */
const struct rows_schema *layout_schema(int table);

/* Makes the tables that are not there, and sees whether those that are have this layout. 0;
 * -EINVAL: they have another one; or an error of clickhouse_ask(). The sentence is in
 * clickhouse_error(). */
int layout_ensure(struct clickhouse *c);

/* Sees whether the tables are there, and have this layout; makes none. Errors as above; -EINVAL
 * also for a table that is not there. */
int layout_check(struct clickhouse *c);

/* Appends "INSERT INTO table (columns) FORMAT RowBinary", with a final NUL. */
void layout_put_insert(int table, struct buf *b);

/* Appends a row as RowBinary has it: one value for each of the table's columns. */
void layout_put_row(int table, const struct rows_value *values, struct buf *b);

#endif
