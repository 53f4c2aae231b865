/* SPDX-License-Identifier: MIT */
/*
 * Finds, makes and upgrades the tables of a database; see database.h.
 *
 * Whatever was interrupted is gone on with by the next push, since each step looks at what is
 * there, and not at a version: tables and columns that are missing are added. Two tables cannot be
 * changed in place, because a partition by days was added to them. They are copied (PAIR_NEXT),
 * given each other's names (PAIR_OLD), and copied again for rows that came meanwhile.
 *
 * Only one process upgrades at a time, since what one drops, another may just have filled: it has
 * the claim, a table that the server makes for one of those who want it (claim()).
 */
#include "clickhouse/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "clickhouse/layout.h"
#include "clickhouse/views.h"

#define DATABASE_PATIENCE_S 3600 /* for copying a table, while the server sends nothing */
#define DATABASE_CLAIM_S    4500 /* age of a claim whose owner has ended: above that of a copy */
#define MOST_DROPS	    20	 /* more than an upgrade drops */
#define DATABASE_CODECS	    20	 /* first major version of servers with codecs for columns */

/* A table as found on the server. It exists if both its columns and its engine were found; if not
 * both, another program may just be creating it. */
struct found {
	uint32_t columns;
	bool has_columns, has_engine, is_distributed;
	unsigned keep_days; /* by its TTL; 0: for ever */
	/* a column of the table that has another type: its name and type; "": none has */
	char other[128];
	/* the cluster of a Distributed table that is defined as put_distributed() does it; "" for
	 * any other table */
	char cluster[128];
};

/* What tables are called while they are copied. */
enum pair { PAIR_NEXT, PAIR_OLD, PAIRS };
static const char *const pairs[PAIRS] = {"_next", "_old"};

/* The table by which a process claims an upgrade, and the default value of its column: since when,
 * as Unix time. */
#define CLAIM	    "upgrading"
#define CLAIM_SINCE "since UInt32 DEFAULT toUInt32(%u)"

struct state {
	struct found tables[LAYOUT_TABLES];
	bool has_pair[LAYOUT_TABLES][PAIRS];
	bool is_claimed; /* some process upgrades it, or was interrupted */
	uint32_t views;
	unsigned server;  /* the server's major version */
	unsigned version; /* the highest in the table of versions; 0: there is none */
};

static bool is_there(const struct found *found)
{
	return found->has_columns && found->has_engine;
}

/* Returns whether a table was made anew in version 2 because it cannot be changed in place. */
static bool is_copied(int table)
{
	return table == ROWS_LOCATIONS || table == ROWS_PATHS;
}

/* Returns whether a column came with version 2. */
static bool is_of_version_2(const char *column)
{
	static const char *const added[] = {"named", "day", "named_at", "label_set"};

	for (size_t i = 0; i < sizeof(added) / sizeof(*added); i++)
		if (strcmp(added[i], column) == 0)
			return true;
	return false;
}

/* Returns the first column that a table lacks; NULL: it has all. */
static const struct rows_column *lacks(const struct state *s, int table, bool is_version_1)
{
	const struct rows_schema *schema = layout_schema(table);

	for (size_t i = 0; i < schema->n_columns; i++)
		if (!(s->tables[table].columns >> i & 1) &&
		    !(is_version_1 && is_of_version_2(schema->columns[i].name)))
			return &schema->columns[i];
	return NULL;
}

/* --- what a server has ------------------------------------------------------------------------ */

/* Appends the definition of the engine that `samples` has in a cluster, with `quote` around each
 * name. */
static void put_distributed(const struct clickhouse *c, const char *cluster, const char *quote,
			    struct buf *b)
{
	const char *const names[] = {cluster, clickhouse_database(c),
				     layout_schema(LAYOUT_SHARD)->name};

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
	name = strstr(engine, "toIntervalDay(");
	if (name)
		found->keep_days = (unsigned)strtoul(name + strlen("toIntervalDay("), NULL, 10);
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
	if (i == schema->n_columns)
		return; /* somebody added it */
	if (strcmp(layout_type(&schema->columns[i]), type) == 0)
		found->columns |= 1u << i;
	else
		snprintf(found->other, sizeof(found->other), "%.60s %.60s", name, type);
}

/* Notes a table that is there by another name while it is copied. */
static void take_pair(struct state *s, const char *name, int table)
{
	const size_t len = strlen(layout_schema(table)->name);

	for (int i = 0; i < PAIRS; i++)
		if (strncmp(name, layout_schema(table)->name, len) == 0 &&
		    strcmp(name + len, pairs[i]) == 0)
			s->has_pair[table][i] = true;
}

/* Reads a line of the answer: "table TAB column TAB type", "table TAB TAB engine", or "TAB TAB
 * version". */
static void take_line(const struct clickhouse *c, char *line, struct state *s)
{
	char *column = strchr(line, '\t'), *type = column ? strchr(column + 1, '\t') : NULL;

	if (!type)
		return;
	*column++ = *type++ = '\0';
	if (strcmp(line, CLAIM) == 0)
		s->is_claimed = true;
	if (!*line)
		s->server = (unsigned)strtoul(type, NULL, 10);
	for (size_t i = 0; !*column && view_at(i); i++)
		if (strcmp(view_at(i)->name, line) == 0)
			s->views |= 1u << i;
	for (int table = 0; table < LAYOUT_TABLES; table++) {
		take_pair(s, line, table);
		if (strcmp(layout_schema(table)->name, line) != 0)
			continue;
		if (*column)
			take_column(layout_schema(table), column, type, &s->tables[table]);
		else
			take_engine(c, type, &s->tables[table]);
	}
}

/* Asks for the highest version in the table of versions. */
static int find_version(struct clickhouse *c, struct state *s)
{
	struct buf answer = {0};
	int err;

	s->version = 0;
	if (!is_there(&s->tables[LAYOUT_VERSIONS]))
		return 0;
	err = clickhouse_ask(c, "SELECT max(version) FROM versions FORMAT TabSeparated", NULL,
			     &answer);
	buf_put_u8(&answer, '\0');
	if (err == 0 && !answer.failed)
		s->version = (unsigned)strtoul((const char *)answer.data, NULL, 10);
	buf_free(&answer);
	return err;
}

/* Asks what tables there are. A server that meets a table in the list that another connection is
 * just dropping may fail, so it is asked again then. */
static int ask_tables(struct clickhouse *c, struct buf *ret_answer)
{
	int err = -ESTALE;

	for (int i = 0; err == -ESTALE && i < MOST_DROPS; i++)
		err = clickhouse_ask(
			c,
			"SELECT table, name, type FROM system.columns WHERE database = "
			"currentDatabase() UNION ALL SELECT name, '', engine_full FROM "
			"system.tables WHERE database = currentDatabase() UNION ALL "
			"SELECT '', '', version() FORMAT TabSeparatedRaw",
			NULL, ret_answer);
	return err;
}

static int find(struct clickhouse *c, struct state *s)
{
	struct buf answer = {0};
	char *line, *rest;
	int err = ask_tables(c, &answer);

	buf_put_u8(&answer, '\0');
	if (err == 0 && answer.failed)
		err = clickhouse_fail(c, -ENOMEM, "out of memory");
	memset(s, 0, sizeof(*s));
	for (line = err == 0 ? strtok_r((char *)answer.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		take_line(c, line, s);
	buf_free(&answer);
	return err == 0 ? find_version(c, s) : err;
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
		layout_schema(table)->name);
}

/* Checks that a table has the columns of a version that can be read. */
static int check_columns(struct clickhouse *c, int table, const struct state *s)
{
	const char *other = s->tables[table].other;
	const struct rows_column *missing = lacks(s, table, true);

	if (!missing && !*other)
		return 0;
	return clickhouse_fail(c, -EINVAL,
			       "its table '%s' is of another version of stackctl, or of another "
			       "program: %s%s%s%s. Nothing was changed; push into another "
			       "database, or move that table away",
			       layout_schema(table)->name,
			       *other ? "it has the column " : "it lacks the column ",
			       *other ? other : missing->name, *other ? "" : " ",
			       *other ? "" : layout_type(missing));
}

static int check(struct clickhouse *c, const struct state *s, unsigned newest)
{
	int err = 0;

	if (s->version > newest)
		return clickhouse_fail(c, -EINVAL,
				       "its tables are of version %u, and this stackctl knows "
				       "version %u: install the newer one",
				       s->version, LAYOUT_VERSION);
	for (int table = 0; err == 0 && table < LAYOUT_TABLES; table++) {
		err = check_engine(c, table, &s->tables[table]);
		if (err == 0 && is_there(&s->tables[table]))
			err = check_columns(c, table, s);
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

/* Runs a query that is in a buffer, which is emptied. */
static int run(struct clickhouse *c, struct buf *query)
{
	int err;

	buf_put_u8(query, '\0');
	err = query->failed ? clickhouse_fail(c, -ENOMEM, "out of memory")
			    : clickhouse_send(c, (const char *)query->data, NULL);
	buf_clear(query);
	return err;
}

/* Makes a table by the name that it has, or by that of a pair. */
static int create(struct clickhouse *c, const struct state *s, int table, const char *pair,
		  const char *cluster)
{
	const bool is_distributed = cluster && table == ROWS_SAMPLES;
	struct buf query = {0}, name = {0};
	int err;

	text_put_raw(&name, layout_schema(table)->name);
	text_put_raw(&name, pair);
	buf_put_u8(&name, '\0');
	if (!name.failed)
		layout_put_create(
			table, (const char *)name.data,
			s->server >= DATABASE_CODECS && !is_distributed ? " CODEC(ZSTD(1))" : "",
			&query);
	if (is_distributed)
		put_distributed(c, cluster, "'", &query);
	else
		layout_put_engine(table, &query);
	err = name.failed ? -ENOMEM : run(c, &query);
	buf_free(&name);
	buf_free(&query);
	return err;
}

/* Adds a column that came with version 2. */
static int add_column(struct clickhouse *c, int table, const struct rows_column *column)
{
	struct buf query = {0};
	int err;

	text_put_raw(&query, "ALTER TABLE ");
	text_put_raw(&query, layout_schema(table)->name);
	text_put_raw(&query, " ADD COLUMN ");
	layout_put_column(column, &query);
	err = run(c, &query);
	buf_free(&query);
	return err;
}

/* --- who upgrades ----------------------------------------------------------------------------- */

/* Asks for the server's time, and since when an upgrade is claimed; 0: it is not. */
static int ask_claim(struct clickhouse *c, unsigned *ret_now, unsigned *ret_since)
{
	struct buf answer = {0};
	int err = clickhouse_ask(
		c,
		"SELECT toUnixTimestamp(now()), max(toUInt32OrZero(extract(default_expression, "
		"'[0-9]{9,10}'))) FROM system.columns WHERE database = currentDatabase() AND "
		"table = '" CLAIM "' FORMAT TabSeparatedRaw",
		NULL, &answer);

	buf_put_u8(&answer, '\0');
	if (err == 0 &&
	    (answer.failed || sscanf((const char *)answer.data, "%u %u", ret_now, ret_since) != 2))
		err = clickhouse_fail(c, -EPROTO, "the server does not say what time it is");
	buf_free(&answer);
	return err;
}

static int make_claim(struct clickhouse *c, unsigned now)
{
	struct buf query = {0};
	int err;

	text_printf(&query,
		    "CREATE TABLE " CLAIM " (" CLAIM_SINCE
		    ") ENGINE = MergeTree() ORDER BY tuple()",
		    now);
	err = run(c, &query);
	buf_free(&query);
	return err;
}

/* Removes the claim of a process that was interrupted. Of those who try, one alone succeeds: the
 * name that it gets is taken for the others. */
static int remove_claim(struct clickhouse *c, unsigned since)
{
	struct buf query = {0};
	int err;

	text_printf(&query, "RENAME TABLE " CLAIM " TO " CLAIM "_%u", since);
	err = run(c, &query);
	buf_free(&query);
	return err;
}

/* Claims the upgrade; *ret_removed is the time of a claim that was removed for that, or 0. Returns
 * 0; -EAGAIN: another process upgrades; or another error. That tables may be dropped is found out
 * before: who may not could not give the claim back. */
static int claim(struct clickhouse *c, unsigned *ret_removed)
{
	unsigned now, since;
	int err = clickhouse_send(c, "DROP TABLE IF EXISTS " CLAIM "_0", NULL);

	*ret_removed = 0;
	if (err == 0)
		err = ask_claim(c, &now, &since);
	if (err < 0)
		return err;
	if (since && now > since && now - since > DATABASE_CLAIM_S && remove_claim(c, since) == 0) {
		*ret_removed = since;
		since = 0;
	}
	err = since ? -EEXIST : make_claim(c, now);
	if (err == -EEXIST)
		err = clickhouse_fail(
			c, -EAGAIN,
			"another push is upgrading its tables to version %u; try again when it has "
			"ended. (If it was interrupted, this is gone on with after %u minutes, or "
			"after DROP TABLE " CLAIM ")",
			LAYOUT_VERSION, DATABASE_CLAIM_S / 60);
	return err;
}

/* Says that the process that upgrades goes on. */
static int renew_claim(struct clickhouse *c)
{
	struct buf query = {0};
	unsigned now, since;
	int err = ask_claim(c, &now, &since);

	text_printf(&query, "ALTER TABLE " CLAIM " MODIFY COLUMN " CLAIM_SINCE, now);
	if (err == 0)
		err = run(c, &query);
	buf_free(&query);
	return err;
}

/* Gives the claim back, and with it the name by which another one was removed. */
static void give_claim_back(struct clickhouse *c, unsigned removed)
{
	struct buf query = {0};

	text_printf(&query, "DROP TABLE IF EXISTS " CLAIM "_%u", removed);
	buf_put_u8(&query, '\0');
	if (removed && !query.failed)
		clickhouse_send_after(c, (const char *)query.data);
	clickhouse_send_after(c, "DROP TABLE IF EXISTS " CLAIM);
	buf_free(&query);
}

/* --- upgrading it ----------------------------------------------------------------------------- */

/* Copies a table's columns of version 1 from one table to another. */
static int copy(struct clickhouse *c, int table, const char *from, const char *to)
{
	const struct rows_schema *schema = layout_schema(table);
	struct buf query = {0}, columns = {0};
	int err;

	for (size_t i = 0; i < schema->n_columns; i++) {
		if (is_of_version_2(schema->columns[i].name))
			continue;
		text_put_raw(&columns, columns.len ? ", " : "");
		text_put_raw(&columns, schema->columns[i].name);
	}
	text_printf(&query, "INSERT INTO %s%s (", schema->name, to);
	buf_put(&query, columns.data, columns.len);
	text_put_raw(&query, ") SELECT ");
	buf_put(&query, columns.data, columns.len);
	text_printf(&query, " FROM %s%s", schema->name, from);
	err = columns.failed ? -ENOMEM : renew_claim(c);
	clickhouse_wait(c, DATABASE_PATIENCE_S);
	err = err == 0 ? run(c, &query) : err;
	clickhouse_wait(c, 0);
	buf_free(&query);
	buf_free(&columns);
	return err;
}

static int drop(struct clickhouse *c, int table, enum pair pair)
{
	struct buf query = {0};
	int err;

	text_printf(&query, "DROP TABLE IF EXISTS %s%s", layout_schema(table)->name, pairs[pair]);
	err = run(c, &query);
	buf_free(&query);
	return err;
}

/* Takes over what is left in the table that a copied table was before, and removes both helpers. */
static int end_copying(struct clickhouse *c, int table)
{
	int err = copy(c, table, pairs[PAIR_OLD], "");

	if (err == 0)
		err = drop(c, table, PAIR_OLD);
	return err == 0 ? drop(c, table, PAIR_NEXT) : err;
}

static int upgrade_copied(struct clickhouse *c, const struct state *s, int table)
{
	const char *name = layout_schema(table)->name;
	struct buf query = {0};
	int err;

	if (!lacks(s, table, false))
		return s->has_pair[table][PAIR_OLD] ? end_copying(c, table) : 0;
	err = drop(c, table, PAIR_NEXT);
	if (err == 0)
		err = create(c, s, table, pairs[PAIR_NEXT], NULL);
	if (err == 0)
		err = copy(c, table, "", pairs[PAIR_NEXT]);
	text_printf(&query, "RENAME TABLE %s TO %s%s, %s%s TO %s", name, name, pairs[PAIR_OLD],
		    name, pairs[PAIR_NEXT], name);
	if (err == 0)
		err = run(c, &query);
	buf_free(&query);
	return err == 0 ? end_copying(c, table) : err;
}

/* Makes a table have all columns, or makes the table. */
static int make(struct clickhouse *c, const struct state *s, int table, const char *cluster)
{
	const struct rows_schema *schema = layout_schema(table);
	int err = 0;

	if (!is_there(&s->tables[table]))
		err = create(c, s, table, "", cluster);
	if (err == 0 && is_copied(table))
		return is_there(&s->tables[table])    ? upgrade_copied(c, s, table)
		       : s->has_pair[table][PAIR_OLD] ? end_copying(c, table)
						      : 0;
	if (!is_there(&s->tables[table]))
		return err;
	for (size_t i = 0; err == 0 && i < schema->n_columns; i++)
		if (!(s->tables[table].columns >> i & 1))
			err = add_column(c, table, &schema->columns[i]);
	return err;
}

/* Makes the views. A user who may not do that can push all the same. */
static int make_views(struct clickhouse *c, const struct state *s)
{
	struct buf query = {0};
	int err = 0;

	for (size_t i = 0; err == 0 && view_at(i); i++) {
		if (s->views >> i & 1)
			continue;
		text_printf(&query, "CREATE VIEW IF NOT EXISTS %s AS ", view_at(i)->name);
		text_put_raw(&query, view_at(i)->query);
		err = run(c, &query);
		err = err == -EACCES ? 0 : err;
	}
	buf_free(&query);
	return err;
}

static int note_version(struct clickhouse *c)
{
	struct buf query = {0};
	int err;

	text_printf(&query,
		    "INSERT INTO versions (version, at, program) SELECT toUInt32(%u), now(), "
		    "'stackctl " STACKD_VERSION "'",
		    LAYOUT_VERSION);
	err = run(c, &query);
	buf_free(&query);
	return err;
}

static int find_ours(struct clickhouse *c, const char *cluster, struct state *s)
{
	int err = find(c, s);

	if (err == 0)
		err = check(c, s, LAYOUT_VERSION);
	return err == 0 ? check_cluster(c, &s->tables[ROWS_SAMPLES], cluster) : err;
}

static bool is_whole(const struct state *s, int tables)
{
	for (int table = 0; table < tables; table++)
		if (!is_there(&s->tables[table]) || lacks(s, table, false) ||
		    s->has_pair[table][PAIR_OLD])
			return false;
	return true;
}

/* Returns whether there are tables that an upgrade must change, or is changing. Tables that are
 * only missing may be made by several at once. */
static bool is_older(const struct state *s)
{
	for (int table = 0; table < LAYOUT_TABLES; table++)
		if ((is_there(&s->tables[table]) && lacks(s, table, false)) ||
		    s->has_pair[table][PAIR_OLD])
			return true;
	return s->is_claimed;
}

static struct database summary(const struct state *s)
{
	return (struct database){.version = !is_there(&s->tables[ROWS_SAMPLES]) ? 0
					    : is_whole(s, LAYOUT_WRITTEN)	? LAYOUT_VERSION
										: 1,
				 .is_cluster = s->tables[ROWS_SAMPLES].is_distributed,
				 .keep_days = s->tables[LAYOUT_WINDOWS].keep_days,
				 .has_ttl = s->server >= DATABASE_CODECS};
}

/* Makes and upgrades all tables. The shards come before the table that is distributed over them, to
 * which a column must be added later. */
static int make_all(struct clickhouse *c, const char *cluster, int tables, struct state *s)
{
	int err = 0;

	for (int table = tables; err == 0 && table-- > 0;)
		err = make(c, s, table, cluster);
	/* Another program, perhaps of another version, may have created tables in the meantime. */
	if (err == 0)
		err = find_ours(c, cluster, s);
	for (int table = 0; err == 0 && table < tables; table++)
		if (!is_there(&s->tables[table]))
			err = clickhouse_fail(
				c, -EPROTO, "the server made the table '%s', and does not have it",
				layout_schema(table)->name);
	return err;
}

/* Upgrades what is there, unless another process does, or has done so by now. */
static int upgrade(struct clickhouse *c, const char *cluster, int tables, struct state *s)
{
	unsigned removed;
	int err = claim(c, &removed);

	if (err < 0)
		return err;
	err = find_ours(c, cluster, s);
	if (err == 0 && !is_whole(s, tables))
		err = make_all(c, cluster, tables, s);
	give_claim_back(c, removed);
	return err;
}

int database_ensure(struct clickhouse *c, const char *cluster, struct database *ret_database)
{
	const int tables = cluster ? LAYOUT_TABLES : LAYOUT_ALONE;
	struct state *s = calloc(1, sizeof(*s));
	int err = s ? find_ours(c, cluster, s) : clickhouse_fail(c, -ENOMEM, "out of memory");

	if (err == 0 && !is_whole(s, tables))
		err = is_older(s) ? upgrade(c, cluster, tables, s)
				  : make_all(c, cluster, tables, s);
	if (err == 0)
		err = make_views(c, s);
	if (err == 0 && s->version < LAYOUT_VERSION)
		err = note_version(c);
	if (err == 0)
		*ret_database = summary(s);
	free(s);
	return err;
}

int database_cluster(struct clickhouse *c, char **ret_cluster)
{
	struct state *s = calloc(1, sizeof(*s));
	int err = s ? find(c, s) : -ENOMEM;

	*ret_cluster = NULL;
	if (err == 0)
		err = check_engine(c, ROWS_SAMPLES, &s->tables[ROWS_SAMPLES]);
	if (err == 0 && *s->tables[ROWS_SAMPLES].cluster) {
		*ret_cluster = strdup(s->tables[ROWS_SAMPLES].cluster);
		err = *ret_cluster ? 0 : clickhouse_fail(c, -ENOMEM, "out of memory");
	}
	free(s);
	return err;
}

int database_check(struct clickhouse *c, struct database *ret_database)
{
	static const int needed[] = {ROWS_LOCATIONS, ROWS_PATHS, ROWS_SAMPLES, LAYOUT_TOTALS,
				     LAYOUT_WINDOWS};
	struct state *s = calloc(1, sizeof(*s));
	int err = s ? find(c, s) : clickhouse_fail(c, -ENOMEM, "out of memory");

	if (err == 0)
		err = check(c, s, LAYOUT_VERSION + 1);
	for (size_t i = 0; err == 0 && i < sizeof(needed) / sizeof(*needed); i++)
		if (!is_there(&s->tables[needed[i]]))
			err = clickhouse_fail(c, -EINVAL,
					      "it has no table '%s': nothing was sent there yet. "
					      "`stackctl push` does",
					      layout_schema(needed[i])->name);
	if (err == 0)
		*ret_database = summary(s);
	free(s);
	return err;
}
