/* SPDX-License-Identifier: MIT */
/*
 * The tables of a fleet's database: those of rows/rows_schema.h, `windows` (a row for each window
 * of a recording), `totals` (the sums of each window's samples), and `versions` (of the tables).
 * database.h finds and makes them on a server.
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
	LAYOUT_WRITTEN,			  /* the number of tables that a push writes */
	LAYOUT_VERSIONS = LAYOUT_WRITTEN, /* a row for each version that the tables have had */
	LAYOUT_ALONE,			  /* the number of tables of a server without a cluster */
	LAYOUT_SHARD = LAYOUT_ALONE,	  /* a server's part of the samples, in a cluster */
	LAYOUT_TABLES
};

/* The version of the tables that this program makes. Version 1 had no labels, no days, and no
 * versions. */
#define LAYOUT_VERSION 2

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

/* Columns that a server has besides those of rows/rows_schema.h. */
enum {
	LAYOUT_SAMPLE_PUSH = ROWS_SAMPLE_N,
	LAYOUT_PATH_DAY = ROWS_PATH_N,
	LAYOUT_LABEL_DAY = ROWS_LABEL_N,
	LAYOUT_LOCATION_DAY = ROWS_LOCATION_N, /* the day of the windows that need it */
	LAYOUT_LOCATION_NAMED_AT,	       /* when its names were found: the newer ones count */
};

#define LAYOUT_MAX_COLUMNS (ROWS_MAX_COLUMNS + 2)

/* Returns a table's name and all its columns; those of rows/rows_schema.h come first. */
const struct rows_schema *layout_schema(int table);

/* Returns the column by whose time a table's rows age; NULL: they do not age. */
const char *layout_time_column(int table);

/* Returns the server's name for a column's type. */
const char *layout_type(const struct rows_column *column);

/* Appends a column's name, type and default value, as CREATE and ALTER TABLE take them. */
void layout_put_column(const struct rows_column *column, struct buf *b);

/* Appends "CREATE TABLE IF NOT EXISTS name (columns) ENGINE = ", each column with `codec` after it.
 */
void layout_put_create(int table, const char *name, const char *codec, struct buf *b);

/* Appends the engine of a table of a server without a cluster. */
void layout_put_engine(int table, struct buf *b);

/* Appends "INSERT INTO table (columns) FORMAT Native", with a final NUL. */
void layout_put_insert(int table, struct buf *b);

/* Rows of a table that are to be sent, in blocks of some rows each, and in a block by column: so
 * similar values are next to each other, and an id and its use in another column still so near that
 * gzip finds it. Zeroed is empty. */
struct layout_rows {
	struct buf blocks; /* those that are full, in the format Native */
	struct buf columns[LAYOUT_MAX_COLUMNS], nulls[LAYOUT_MAX_COLUMNS];
	uint64_t count; /* rows in the columns */
};

/* Adds a row: one value for each of the table's columns. */
void layout_put_row(int table, const struct rows_value *values, struct layout_rows *rows);

/* Returns about how many bytes the rows have. */
size_t layout_rows_bytes(const struct layout_rows *rows);

/* Ends the last block. Returns all blocks, which stay the rows' own; NULL: memory was short. */
const struct buf *layout_end_rows(int table, struct layout_rows *rows);

void layout_clear_rows(struct layout_rows *rows); /* makes it empty */
void layout_free_rows(struct layout_rows *rows);  /* and frees what it has */

#endif
