/* SPDX-License-Identifier: MIT */
/*
 * The tables of a fleet's database; see layout.h.
 *
 * Samples are in order of metric, hour, host, window, command and tag: a query of a time, or of
 * some hosts in it, reads little else, and columns that are the same in many rows on end take next
 * to no room. With the tag first, its 8 bytes would take none, but hosts, windows and pushes 14
 * (of 10,000 hosts), since the latter two are random numbers. Paths and locations are sent by all
 * hosts, and merged by the engine; a tag that has two definitions keeps both, since its order has
 * all columns.
 */
#include "clickhouse/layout.h"

#include <errno.h>
#include <stdlib.h>
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

static const struct rows_schema windows = {"windows", window_columns, LAYOUT_WINDOW_N};
static const struct rows_schema samples = {"samples", sample_columns, ROWS_SAMPLE_N + 1};

static const char *const engines[LAYOUT_TABLES] = {
	[ROWS_LOCATIONS] = "ReplacingMergeTree() ORDER BY (id, alt, inlined)",
	[ROWS_PATHS] = "ReplacingMergeTree() ORDER BY (tag, alt, parent, parent_alt, location, "
		       "location_alt)",
	[ROWS_SAMPLES] = "MergeTree() PARTITION BY toDate(start) ORDER BY (metric, "
			 "toStartOfHour(start), host, window, command, tag, alt)",
	[LAYOUT_WINDOWS] = "MergeTree() PARTITION BY toDate(start) ORDER BY (host, window, push)",
};

const struct rows_schema *layout_schema(int table)
{
	if (table == LAYOUT_WINDOWS)
		return &windows;
	return table == ROWS_SAMPLES ? &samples : rows_schema((enum rows_table)table);
}

/* --- columns ---------------------------------------------------------------------------------- */

static const char *type_of(const struct rows_column *column)
{
	static const char *const types[][2] = {
		[ROWS_U64] = {"UInt64", "Nullable(UInt64)"},
		[ROWS_U32] = {"UInt32", "Nullable(UInt32)"},
		[ROWS_TIME] = {"DateTime", "Nullable(DateTime)"},
		[ROWS_TEXT] = {"String", "Nullable(String)"},
	};

	return types[column->type][column->is_nullable];
}

static void put_columns(const struct rows_schema *schema, bool has_types, struct buf *b)
{
	for (size_t i = 0; i < schema->n_columns; i++) {
		text_put_raw(b, i ? ", `" : "(`");
		text_put_raw(b, schema->columns[i].name);
		text_put_raw(b, "`");
		if (!has_types)
			continue;
		text_put_raw(b, " ");
		text_put_raw(b, type_of(&schema->columns[i]));
	}
	text_put_raw(b, ")");
}

void layout_put_insert(int table, struct buf *b)
{
	const struct rows_schema *schema = layout_schema(table);

	text_put_raw(b, "INSERT INTO ");
	text_put_raw(b, schema->name);
	text_put_raw(b, " ");
	put_columns(schema, false, b);
	text_put_raw(b, " FORMAT RowBinary");
	buf_put_u8(b, '\0');
}

static void put_little(struct buf *b, uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		buf_put_u8(b, (uint8_t)(value >> (8 * i)));
}

void layout_put_row(int table, const struct rows_value *values, struct buf *b)
{
	const struct rows_schema *schema = layout_schema(table);

	for (size_t i = 0; i < schema->n_columns; i++) {
		const struct rows_column *column = &schema->columns[i];
		const struct rows_value *value = &values[i];

		if (column->is_nullable)
			buf_put_u8(b, value->is_null);
		if (value->is_null)
			continue;
		if (column->type == ROWS_TEXT)
			buf_put_string(b, value->text);
		else if (column->type == ROWS_TIME)
			put_little(b, value->number / 1000000000, 4);
		else
			put_little(b, value->number, column->type == ROWS_U32 ? 4 : 8);
	}
}

/* --- making and checking ---------------------------------------------------------------------- */

static int create(struct clickhouse *c, int table)
{
	const struct rows_schema *schema = layout_schema(table);
	struct buf query = {0};
	int err;

	text_put_raw(&query, "CREATE TABLE IF NOT EXISTS ");
	text_put_raw(&query, schema->name);
	text_put_raw(&query, " ");
	put_columns(schema, true, &query);
	text_put_raw(&query, " ENGINE = ");
	text_put_raw(&query, engines[table]);
	buf_put_u8(&query, '\0');
	err = query.failed ? clickhouse_fail(c, -ENOMEM, "out of memory")
			   : clickhouse_send(c, (const char *)query.data, NULL);
	buf_free(&query);
	return err;
}

/* A table as the server has it: a bit for each of our columns that is there as it should be. */
struct found {
	uint32_t columns;
	bool is_there, is_distributed;
	char other[128]; /* a column of the table that should be another one, or not be there */
};

/* Takes a line "table TAB column TAB type", or "table TAB TAB engine". */
static void take_line(char *line, struct found *found)
{
	char *column = strchr(line, '\t'), *type = column ? strchr(column + 1, '\t') : NULL;

	if (!type)
		return;
	*column++ = *type++ = '\0';
	for (int table = 0; table < LAYOUT_TABLES; table++) {
		const struct rows_schema *schema = layout_schema(table);
		size_t i = 0;

		if (strcmp(schema->name, line) != 0)
			continue;
		found[table].is_there = true;
		if (!*column) {
			found[table].is_distributed = !strcmp(type, "Distributed");
			continue;
		}
		while (i < schema->n_columns && strcmp(schema->columns[i].name, column) != 0)
			i++;
		if (i < schema->n_columns && strcmp(type_of(&schema->columns[i]), type) == 0)
			found[table].columns |= 1u << i;
		else
			snprintf(found[table].other, sizeof(found[table].other), "%.60s %.60s",
				 column, type);
	}
}

static int ask(struct clickhouse *c, struct found found[LAYOUT_TABLES])
{
	struct buf answer = {0};
	char *line, *rest;
	int err = clickhouse_ask(c,
				 "SELECT table, name, type FROM system.columns WHERE database = "
				 "currentDatabase() UNION ALL SELECT name, '', engine FROM "
				 "system.tables WHERE database = currentDatabase() FORMAT "
				 "TabSeparatedRaw",
				 NULL, &answer);

	buf_put_u8(&answer, '\0');
	if (err == 0 && answer.failed)
		err = clickhouse_fail(c, -ENOMEM, "out of memory");
	memset(found, 0, LAYOUT_TABLES * sizeof(*found));
	for (line = err == 0 ? strtok_r((char *)answer.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		take_line(line, found);
	buf_free(&answer);
	return err;
}

static int check(struct clickhouse *c, const struct found found[LAYOUT_TABLES])
{
	for (int table = 0; table < LAYOUT_TABLES; table++) {
		const struct rows_schema *schema = layout_schema(table);

		/* What it has taken may not be in its shards yet, and one of these can be away. */
		if (found[table].is_distributed)
			return clickhouse_fail(
				c, -EINVAL,
				"its table '%s' is Distributed, which stackctl does not "
				"know to be whole. Name the database of one server's "
				"own tables",
				schema->name);
		for (size_t i = 0; i < schema->n_columns && found[table].is_there; i++) {
			const struct rows_column *column = &schema->columns[i];
			const char *other = found[table].other;

			if (found[table].columns >> i & 1 && !*other)
				continue;
			return clickhouse_fail(
				c, -EINVAL,
				"its table '%s' is of another version of stackctl, or of another "
				"program: %s%s%s%s. Nothing was changed; push into another "
				"database, or move that table away",
				schema->name,
				*other ? "it has the column " : "it lacks the column ",
				*other ? other : column->name, *other ? "" : " ",
				*other ? "" : type_of(column));
		}
	}
	return 0;
}

int layout_ensure(struct clickhouse *c)
{
	struct found found[LAYOUT_TABLES];
	bool is_whole = true;
	int err = ask(c, found);

	if (err == 0)
		err = check(c, found);
	for (int table = 0; err == 0 && table < LAYOUT_TABLES; table++) {
		if (found[table].is_there)
			continue;
		is_whole = false;
		err = create(c, table);
	}
	/* Another pusher, of another version, may have been there in between. */
	if (err == 0 && !is_whole)
		err = ask(c, found);
	if (err == 0 && !is_whole)
		err = check(c, found);
	for (int table = 0; err == 0 && table < LAYOUT_TABLES; table++)
		if (!found[table].is_there)
			err = clickhouse_fail(
				c, -EPROTO, "the server made the table '%s', and does not have it",
				layout_schema(table)->name);
	return err;
}

int layout_check(struct clickhouse *c)
{
	struct found found[LAYOUT_TABLES];
	int err = ask(c, found);

	if (err == 0)
		err = check(c, found);
	for (int table = 0; err == 0 && table < LAYOUT_TABLES; table++)
		if (!found[table].is_there)
			err = clickhouse_fail(c, -EINVAL,
					      "it has no table '%s': nothing was sent there yet. "
					      "`stackctl push` does",
					      layout_schema(table)->name);
	return err;
}
