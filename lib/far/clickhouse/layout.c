/* SPDX-License-Identifier: MIT */
/*
 * The tables of a fleet's database; see layout.h.
 *
 * Samples are ordered by metric, hour, host, window, command and tag. So a query for a range of
 * time, or for some hosts in it, reads little else, and columns with long runs of equal values
 * compress to almost nothing. In order of tags, the tag's 8 bytes would compress to nothing, but
 * host, window and push would take 14 bytes (with 10,000 hosts), since windows and pushes are
 * random numbers. All hosts send paths, locations and labels, and the engine merges equal rows. If
 * a tag has two definitions, both stay, because the order includes all columns.
 *
 * Every table has a partition for each day. Paths, locations and labels of a day are those that the
 * windows of that day need, so a report of an hour reads those of one day, and a day can be deleted
 * as a whole. The price is that what is needed for weeks is sent once a day.
 */
#include "clickhouse/layout.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

static const struct rows_column window_columns[] = {
	[LAYOUT_HOST] = {"host", ROWS_TEXT, false},
	[LAYOUT_WINDOW] = {"window", ROWS_U64, false},
	[LAYOUT_PUSH] = {"push", ROWS_U64, false},
	[LAYOUT_START] = {"start", ROWS_TIME, false},
	[LAYOUT_START_NS] = {"start_ns", ROWS_U64, false},
	[LAYOUT_END_NS] = {"end_ns", ROWS_U64, false},
	[LAYOUT_FINISHED] = {"finished", ROWS_U32, false},
	[LAYOUT_EVENT] = {"event", ROWS_TEXT, false},
	[LAYOUT_TARGET] = {"target", ROWS_TEXT, false},
	[LAYOUT_KERNEL] = {"kernel", ROWS_TEXT, false},
	[LAYOUT_SAMPLES] = {"samples", ROWS_U64, false},
	[LAYOUT_LOST] = {"lost", ROWS_U64, false},
};

#define LAYOUT_COLUMN(e, name, type, null) {name, type, null},

static const struct rows_column sample_columns[] = {
	ROWS_SAMPLE_COLUMNS(LAYOUT_COLUMN){"push", ROWS_U64, false}};

#define LAYOUT_DAY                                                                                 \
	{                                                                                          \
		"day", ROWS_DAY, false                                                             \
	}

static const struct rows_column location_columns[] = {
	ROWS_LOCATION_COLUMNS(LAYOUT_COLUMN) LAYOUT_DAY, {"named_at", ROWS_TIME, false}};

static const struct rows_column path_columns[] = {ROWS_PATH_COLUMNS(LAYOUT_COLUMN) LAYOUT_DAY};

static const struct rows_column label_columns[] = {ROWS_LABEL_COLUMNS(LAYOUT_COLUMN) LAYOUT_DAY};

static const struct rows_column version_columns[] = {
	{"version", ROWS_U32, false}, {"at", ROWS_TIME, false}, {"program", ROWS_TEXT, false}};

static const struct rows_column total_columns[] = {
	[LAYOUT_TOTAL_PUSH] = {"push", ROWS_U64, false},
	[LAYOUT_TOTAL_HOST] = {"host", ROWS_TEXT, false},
	[LAYOUT_TOTAL_START] = {"start", ROWS_TIME, false},
	[LAYOUT_TOTAL_METRIC] = {"metric", ROWS_TEXT, false},
	[LAYOUT_TOTAL_WEIGHT] = {"weight", ROWS_U64, false},
	[LAYOUT_TOTAL_COUNT] = {"count", ROWS_U64, false},
};

static const struct rows_schema schemas[LAYOUT_TABLES] = {
	[ROWS_LOCATIONS] = {"locations", location_columns, ROWS_LOCATION_N + 2},
	[ROWS_PATHS] = {"paths", path_columns, ROWS_PATH_N + 1},
	[ROWS_LABELS] = {"labels", label_columns, ROWS_LABEL_N + 1},
	[ROWS_SAMPLES] = {"samples", sample_columns, ROWS_SAMPLE_N + 1},
	[LAYOUT_TOTALS] = {"totals", total_columns, LAYOUT_TOTAL_N},
	[LAYOUT_WINDOWS] = {"windows", window_columns, LAYOUT_WINDOW_N},
	[LAYOUT_VERSIONS] = {"versions", version_columns, 3},
	[LAYOUT_SHARD] = {"samples_shard", sample_columns, ROWS_SAMPLE_N + 1},
};

_Static_assert((int)ROWS_SAMPLE_N < LAYOUT_MAX_COLUMNS, "a row of samples fits");
_Static_assert((int)ROWS_LOCATION_N + 1 < LAYOUT_MAX_COLUMNS, "a row of locations fits");

/* Rows of a block at most. Paths refer to ids of paths shortly before, which are in another column,
 * and gzip finds them within 32 KiB; other rows have more in common with those of their column. */
#define PATHS_OF_BLOCK 512
#define ROWS_OF_BLOCK  65536

#define ENGINE_OF_SAMPLES                                                                          \
	"MergeTree() PARTITION BY toDate(start) ORDER BY (metric, toStartOfHour(start), host, "    \
	"window, command, tag, alt)"

/* Readers look up some thousands of ids, each of which is in another granule, since ids are hashes.
 */
#define LOOKED_UP " SETTINGS index_granularity = 256"

static const char *const engines[LAYOUT_TABLES] = {
	[ROWS_LOCATIONS] = "ReplacingMergeTree() PARTITION BY day ORDER BY (id, alt, inlined, "
			   "named, named_at)" LOOKED_UP,
	[ROWS_PATHS] = "ReplacingMergeTree() PARTITION BY day ORDER BY (tag, alt, parent, "
		       "parent_alt, location, location_alt)" LOOKED_UP,
	[ROWS_LABELS] = "ReplacingMergeTree() PARTITION BY day ORDER BY (id, key, value)",
	[ROWS_SAMPLES] = ENGINE_OF_SAMPLES,
	[LAYOUT_SHARD] = ENGINE_OF_SAMPLES,
	[LAYOUT_TOTALS] = "MergeTree() PARTITION BY toDate(start) ORDER BY (metric, push)",
	[LAYOUT_WINDOWS] = "MergeTree() PARTITION BY toDate(start) ORDER BY (host, window, push)",
	[LAYOUT_VERSIONS] = "MergeTree() ORDER BY version",
};

/* Values of columns that a row of an older stackctl lacks, which may go on running for a while, or
 * whose rows are taken over (database.c). */
static const struct {
	const char *column, *value;
} defaults[] = {
	{"day", "today()"},
	{"named", "multiIf(isNotNull(line), 3, isNotNull(function), 2, isNotNull(function_start), "
		  "1, 0)"},
};

const struct rows_schema *layout_schema(int table)
{
	return &schemas[table];
}

const char *layout_time_column(int table)
{
	return table == LAYOUT_VERSIONS ? NULL
	       : table == LAYOUT_SHARD	? "start"
	       : table <= ROWS_LABELS	? "day"
					: "start";
}

/* --- columns ---------------------------------------------------------------------------------- */

const char *layout_type(const struct rows_column *column)
{
	static const char *const types[][2] = {
		[ROWS_U64] = {"UInt64", "Nullable(UInt64)"},
		[ROWS_U32] = {"UInt32", "Nullable(UInt32)"},
		[ROWS_TIME] = {"DateTime", "Nullable(DateTime)"},
		[ROWS_TEXT] = {"String", "Nullable(String)"},
		[ROWS_DAY] = {"Date", "Nullable(Date)"},
	};

	return types[column->type][column->is_nullable];
}

void layout_put_column(const struct rows_column *column, struct buf *b)
{
	text_put_raw(b, "`");
	text_put_raw(b, column->name);
	text_put_raw(b, "` ");
	text_put_raw(b, layout_type(column));
	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++) {
		if (strcmp(defaults[i].column, column->name) != 0)
			continue;
		text_put_raw(b, " DEFAULT ");
		text_put_raw(b, defaults[i].value);
	}
}

/* Appends the names of a table's columns, in parentheses. */
static void put_names(const struct rows_schema *schema, struct buf *b)
{
	for (size_t i = 0; i < schema->n_columns; i++) {
		text_put_raw(b, i ? ", `" : "(`");
		text_put_raw(b, schema->columns[i].name);
		text_put_raw(b, "`");
	}
	text_put_raw(b, ")");
}

void layout_put_create(int table, const char *name, const char *codec, struct buf *b)
{
	const struct rows_schema *schema = layout_schema(table);

	text_put_raw(b, "CREATE TABLE IF NOT EXISTS ");
	text_put_raw(b, name);
	for (size_t i = 0; i < schema->n_columns; i++) {
		text_put_raw(b, i ? ", " : " (");
		layout_put_column(&schema->columns[i], b);
		text_put_raw(b, codec);
	}
	text_put_raw(b, ") ENGINE = ");
}

void layout_put_engine(int table, struct buf *b)
{
	text_put_raw(b, engines[table]);
}

void layout_put_insert(int table, struct buf *b)
{
	const struct rows_schema *schema = layout_schema(table);

	text_put_raw(b, "INSERT INTO ");
	text_put_raw(b, schema->name);
	text_put_raw(b, " ");
	put_names(schema, b);
	text_put_raw(b, " FORMAT Native");
	buf_put_u8(b, '\0');
}

static void put_little(struct buf *b, uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		buf_put_u8(b, (uint8_t)(value >> (8 * i)));
}

/* Appends a value to a column; where it is null, the column has a zero or an empty text. */
static void put_value(const struct rows_column *column, const struct rows_value *value,
		      struct buf *b)
{
	const uint64_t number = value->is_null ? 0 : value->number;

	if (column->type == ROWS_TEXT)
		buf_put_string(b, value->is_null ? "" : value->text);
	else if (column->type == ROWS_TIME)
		put_little(b, number / 1000000000, 4);
	else if (column->type == ROWS_DAY)
		put_little(b, number, 2);
	else
		put_little(b, number, column->type == ROWS_U32 ? 4 : 8);
}

static void clear_columns(struct layout_rows *rows)
{
	for (size_t i = 0; i < LAYOUT_MAX_COLUMNS; i++) {
		buf_clear(&rows->columns[i]);
		buf_clear(&rows->nulls[i]);
	}
	rows->count = 0;
}

/* Moves what the columns have to the blocks. */
static void end_block(int table, struct layout_rows *rows)
{
	const struct rows_schema *schema = layout_schema(table);
	struct buf *b = &rows->blocks;

	if (!rows->count)
		return;
	buf_put_varint(b, schema->n_columns);
	buf_put_varint(b, rows->count);
	for (size_t i = 0; i < schema->n_columns; i++) {
		buf_put_string(b, schema->columns[i].name);
		buf_put_string(b, layout_type(&schema->columns[i]));
		buf_put(b, rows->nulls[i].data, rows->nulls[i].len);
		buf_put(b, rows->columns[i].data, rows->columns[i].len);
		b->failed |= rows->nulls[i].failed || rows->columns[i].failed;
	}
	clear_columns(rows);
}

void layout_put_row(int table, const struct rows_value *values, struct layout_rows *rows)
{
	const struct rows_schema *schema = layout_schema(table);

	for (size_t i = 0; i < schema->n_columns; i++) {
		if (schema->columns[i].is_nullable)
			buf_put_u8(&rows->nulls[i], values[i].is_null);
		put_value(&schema->columns[i], &values[i], &rows->columns[i]);
	}
	if (++rows->count == (table == ROWS_PATHS ? PATHS_OF_BLOCK : ROWS_OF_BLOCK))
		end_block(table, rows);
}

size_t layout_rows_bytes(const struct layout_rows *rows)
{
	size_t bytes = rows->blocks.len;

	for (size_t i = 0; i < LAYOUT_MAX_COLUMNS; i++)
		bytes += rows->columns[i].len;
	return bytes;
}

const struct buf *layout_end_rows(int table, struct layout_rows *rows)
{
	end_block(table, rows);
	return rows->blocks.failed ? NULL : &rows->blocks;
}

void layout_clear_rows(struct layout_rows *rows)
{
	buf_clear(&rows->blocks);
	clear_columns(rows);
}

void layout_free_rows(struct layout_rows *rows)
{
	buf_free(&rows->blocks);
	for (size_t i = 0; i < LAYOUT_MAX_COLUMNS; i++) {
		buf_free(&rows->columns[i]);
		buf_free(&rows->nulls[i]);
	}
	rows->count = 0;
}
