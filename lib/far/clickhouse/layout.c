/* SPDX-License-Identifier: MIT */
/*
 * The tables of a fleet's database; see layout.h.
 *
 * Samples are ordered by metric, hour, host, window, command and tag. So a query for a range of
 * time, or for some hosts in it, reads little else, and columns with long runs of equal values
 * compress to almost nothing. In order of tags, the tag's 8 bytes would compress to nothing, but
 * host, window and push would take 14 bytes (with 10,000 hosts), since windows and pushes are
 * random numbers. All hosts send paths and locations, and the engine merges equal rows. If a tag
 * has two definitions, both stay, because the order includes all columns.
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

static const struct rows_column total_columns[] = {
	[LAYOUT_TOTAL_PUSH] = {"push", ROWS_U64, false},
	[LAYOUT_TOTAL_HOST] = {"host", ROWS_TEXT, false},
	[LAYOUT_TOTAL_START] = {"start", ROWS_TIME, false},
	[LAYOUT_TOTAL_METRIC] = {"metric", ROWS_TEXT, false},
	[LAYOUT_TOTAL_WEIGHT] = {"weight", ROWS_U64, false},
	[LAYOUT_TOTAL_COUNT] = {"count", ROWS_U64, false},
};

static const struct rows_schema windows = {"windows", window_columns, LAYOUT_WINDOW_N};
static const struct rows_schema totals = {"totals", total_columns, LAYOUT_TOTAL_N};
static const struct rows_schema samples = {"samples", sample_columns, ROWS_SAMPLE_N + 1};
static const struct rows_schema shard = {"samples_shard", sample_columns, ROWS_SAMPLE_N + 1};

#define ENGINE_OF_SAMPLES                                                                          \
	"MergeTree() PARTITION BY toDate(start) ORDER BY (metric, toStartOfHour(start), host, "    \
	"window, command, tag, alt)"

static const char *const engines[LAYOUT_TABLES] = {
	[ROWS_LOCATIONS] = "ReplacingMergeTree() ORDER BY (id, alt, inlined)",
	[ROWS_PATHS] = "ReplacingMergeTree() ORDER BY (tag, alt, parent, parent_alt, location, "
		       "location_alt)",
	[ROWS_SAMPLES] = ENGINE_OF_SAMPLES,
	[LAYOUT_SHARD] = ENGINE_OF_SAMPLES,
	[LAYOUT_TOTALS] = "MergeTree() PARTITION BY toDate(start) ORDER BY (metric, push)",
	[LAYOUT_WINDOWS] = "MergeTree() PARTITION BY toDate(start) ORDER BY (host, window, push)",
};

/* Returns a table's schema with all its columns; those of rows/rows_schema.h come first. */
static const struct rows_schema *schema_of(int table)
{
	switch (table) {
	case ROWS_SAMPLES:
		return &samples;
	case LAYOUT_TOTALS:
		return &totals;
	case LAYOUT_WINDOWS:
		return &windows;
	case LAYOUT_SHARD:
		return &shard;
	default:
		return rows_schema((enum rows_table)table);
	}
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
	const struct rows_schema *schema = schema_of(table);

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
	const struct rows_schema *schema = schema_of(table);

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

/* --- what a server has ------------------------------------------------------------------------ */

/* A table as found on the server. It exists if both its columns and its engine were found; if not
 * both, another program may just be creating it. */
struct found {
	uint32_t columns;
	bool has_columns, has_engine, is_distributed;
	/* name of a column of the table that is missing, has another type, or should not be
	 * there */
	char other[128];
	/* the cluster of a Distributed table that is defined as put_distributed() does it; "" for
	 * any other table */
	char cluster[128];
};

static bool is_there(const struct found *found)
{
	return found->has_columns && found->has_engine;
}

/* Appends the definition of the engine that `samples` has in a cluster, with `quote` around each
 * name. */
static void put_distributed(const struct clickhouse *c, const char *cluster, const char *quote,
			    struct buf *b)
{
	const char *const names[] = {cluster, clickhouse_database(c), shard.name};

	text_put_raw(b, "Distributed(");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		text_put_raw(b, quote);
		text_put_raw(b, names[i]);
		text_put_raw(b, quote);
		text_put_raw(b, ",");
	}
	text_put_raw(b, "tag)");
}

/* Reads a table's engine from the server's text, and changes the text: removes quotes and spaces,
 * in which versions of the server differ. */
static void take_engine(const struct clickhouse *c, char *engine, struct found *found)
{
	struct buf ours = {0};
	char *to = engine, *name, *end;

	for (const char *at = engine; *at; at++)
		if (!strchr(" '`\\", *at))
			*to++ = *at;
	*to = '\0';
	found->has_engine = true;
	found->is_distributed = strncmp(engine, "Distributed(", strlen("Distributed(")) == 0;
	name = found->is_distributed ? engine + strlen("Distributed(") : NULL;
	end = name ? strchr(name, ',') : NULL;
	if (!end || (size_t)(end - name) >= sizeof(found->cluster))
		return;
	memcpy(found->cluster, name, (size_t)(end - name));
	put_distributed(c, found->cluster, "", &ours);
	buf_put_u8(&ours, '\0');
	if (ours.failed || strcmp((const char *)ours.data, engine) != 0)
		found->cluster[0] = '\0';
	buf_free(&ours);
}

static void take_column(const struct rows_schema *schema, const char *name, const char *type,
			struct found *found)
{
	size_t i = 0;

	found->has_columns = true;
	while (i < schema->n_columns && strcmp(schema->columns[i].name, name) != 0)
		i++;
	if (i < schema->n_columns && strcmp(type_of(&schema->columns[i]), type) == 0)
		found->columns |= 1u << i;
	else
		snprintf(found->other, sizeof(found->other), "%.60s %.60s", name, type);
}

/* Reads a line of the answer: "table TAB column TAB type", or "table TAB TAB engine". */
static void take_line(const struct clickhouse *c, char *line, struct found *found)
{
	char *column = strchr(line, '\t'), *type = column ? strchr(column + 1, '\t') : NULL;

	if (!type)
		return;
	*column++ = *type++ = '\0';
	for (int table = 0; table < LAYOUT_TABLES; table++) {
		if (strcmp(schema_of(table)->name, line) != 0)
			continue;
		if (*column)
			take_column(schema_of(table), column, type, &found[table]);
		else
			take_engine(c, type, &found[table]);
	}
}

static int find(struct clickhouse *c, struct found found[LAYOUT_TABLES])
{
	struct buf answer = {0};
	char *line, *rest;
	int err = clickhouse_ask(c,
				 "SELECT table, name, type FROM system.columns WHERE database = "
				 "currentDatabase() UNION ALL SELECT name, '', engine_full FROM "
				 "system.tables WHERE database = currentDatabase() FORMAT "
				 "TabSeparatedRaw",
				 NULL, &answer);

	buf_put_u8(&answer, '\0');
	if (err == 0 && answer.failed)
		err = clickhouse_fail(c, -ENOMEM, "out of memory");
	memset(found, 0, LAYOUT_TABLES * sizeof(*found));
	for (line = err == 0 ? strtok_r((char *)answer.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		take_line(c, line, found);
	buf_free(&answer);
	return err;
}

/* --- whether it is ours ----------------------------------------------------------------------- */

/* Checks a table's engine. Only `samples` may be Distributed, and only with our definition. Rows of
 * another Distributed table may not be in its shards yet, and if a shard is down, its rows would be
 * missing unnoticed. */
static int check_engine(struct clickhouse *c, int table, const struct found *found)
{
	if (!found->is_distributed || (table == ROWS_SAMPLES && *found->cluster))
		return 0;
	return clickhouse_fail(
		c, -EINVAL,
		"its table '%s' is Distributed in another way than stackctl makes "
		"it, which it does not know to be whole. Push into another database, "
		"with ?cluster=NAME behind it",
		schema_of(table)->name);
}

static int check_columns(struct clickhouse *c, int table, const struct found *found)
{
	const struct rows_schema *schema = schema_of(table);

	for (size_t i = 0; i < schema->n_columns; i++) {
		const struct rows_column *column = &schema->columns[i];
		const char *other = found->other;

		if (found->columns >> i & 1 && !*other)
			continue;
		return clickhouse_fail(
			c, -EINVAL,
			"its table '%s' is of another version of stackctl, or of another "
			"program: %s%s%s%s. Nothing was changed; push into another "
			"database, or move that table away",
			schema->name, *other ? "it has the column " : "it lacks the column ",
			*other ? other : column->name, *other ? "" : " ",
			*other ? "" : type_of(column));
	}
	return 0;
}

static int check(struct clickhouse *c, const struct found found[LAYOUT_TABLES])
{
	int err = 0;

	for (int table = 0; err == 0 && table < LAYOUT_TABLES; table++) {
		err = check_engine(c, table, &found[table]);
		if (err == 0 && is_there(&found[table]))
			err = check_columns(c, table, &found[table]);
	}
	return err;
}

/* Checks that the table of samples, if it exists, belongs to this cluster; `cluster` NULL: to no
 * cluster. */
static int check_cluster(struct clickhouse *c, const struct found *found, const char *cluster)
{
	if (!is_there(found) || strcmp(found->cluster, cluster ? cluster : "") == 0)
		return 0;
	if (!*found->cluster)
		return clickhouse_fail(c, -EINVAL,
				       "its tables are of this server alone, and not of the "
				       "cluster '%s': push into another database",
				       cluster);
	return clickhouse_fail(c, -EINVAL, "its tables are of the cluster '%s', and not of %s%s%s",
			       found->cluster, cluster ? "'" : "this server alone",
			       cluster ? cluster : "", cluster ? "'" : "");
}

/* --- making it -------------------------------------------------------------------------------- */

static int create(struct clickhouse *c, int table, const char *cluster)
{
	const struct rows_schema *schema = schema_of(table);
	struct buf query = {0};
	int err;

	text_put_raw(&query, "CREATE TABLE IF NOT EXISTS ");
	text_put_raw(&query, schema->name);
	text_put_raw(&query, " ");
	put_columns(schema, true, &query);
	text_put_raw(&query, " ENGINE = ");
	if (cluster && table == ROWS_SAMPLES)
		put_distributed(c, cluster, "'", &query);
	else
		text_put_raw(&query, engines[table]);
	buf_put_u8(&query, '\0');
	err = query.failed ? clickhouse_fail(c, -ENOMEM, "out of memory")
			   : clickhouse_send(c, (const char *)query.data, NULL);
	buf_free(&query);
	return err;
}

static int find_ours(struct clickhouse *c, const char *cluster, struct found found[LAYOUT_TABLES])
{
	int err = find(c, found);

	if (err == 0)
		err = check(c, found);
	return err == 0 ? check_cluster(c, &found[ROWS_SAMPLES], cluster) : err;
}

int layout_ensure(struct clickhouse *c, const char *cluster)
{
	const int tables = cluster ? LAYOUT_TABLES : LAYOUT_WRITTEN;
	struct found found[LAYOUT_TABLES];
	bool is_whole = true;
	int err = find_ours(c, cluster, found);

	for (int table = 0; err == 0 && table < tables; table++) {
		if (is_there(&found[table]))
			continue;
		is_whole = false;
		err = create(c, table, cluster);
	}
	/* Another program, perhaps of another version, may have created tables in the meantime. */
	if (err == 0 && !is_whole)
		err = find_ours(c, cluster, found);
	for (int table = 0; err == 0 && table < tables; table++)
		if (!is_there(&found[table]))
			err = clickhouse_fail(
				c, -EPROTO, "the server made the table '%s', and does not have it",
				schema_of(table)->name);
	return err;
}

int layout_cluster(struct clickhouse *c, char **ret_cluster)
{
	struct found found[LAYOUT_TABLES];
	int err = find(c, found);

	*ret_cluster = NULL;
	if (err == 0)
		err = check_engine(c, ROWS_SAMPLES, &found[ROWS_SAMPLES]);
	if (err < 0 || !*found[ROWS_SAMPLES].cluster)
		return err;
	*ret_cluster = strdup(found[ROWS_SAMPLES].cluster);
	return *ret_cluster ? 0 : clickhouse_fail(c, -ENOMEM, "out of memory");
}

int layout_check(struct clickhouse *c, bool *ret_is_cluster)
{
	struct found found[LAYOUT_TABLES];
	int err = find(c, found);

	if (err == 0)
		err = check(c, found);
	for (int table = 0; err == 0 && table < LAYOUT_WRITTEN; table++)
		if (!is_there(&found[table]))
			err = clickhouse_fail(c, -EINVAL,
					      "it has no table '%s': nothing was sent there yet. "
					      "`stackctl push` does",
					      schema_of(table)->name);
	*ret_is_cluster = found[ROWS_SAMPLES].is_distributed;
	return err;
}
