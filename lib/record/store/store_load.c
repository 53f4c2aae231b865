/* SPDX-License-Identifier: MIT */
/*
 * Loads an untrusted file into trusted arrays: every number is checked against the table that it
 * refers to before it is kept, and every table against its limit before it grows.
 *
 * This file loads the small tables, as rows; store_load_chunks.c the large ones. Rows must be
 * numbered densely in order. That also bounds the time: a damaged b-tree can offer the same pages
 * again and again, but not with ever new numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "stack/location.h"
#include "store/reader_state.h"

/* --- strings -------------------------------------------------------------------------------- */

struct reader_block {
	struct reader_block *next;
	size_t used, size;
	char bytes[];
};

#define READER_BLOCK_BYTES (64u << 10)

char *store_load_copy(struct reader_arena *arena, const char *s, size_t len)
{
	struct reader_block *b = arena->blocks;
	char *copy;

	if (!b || b->size - b->used < len + 1) {
		size_t size = len + 1 > READER_BLOCK_BYTES ? len + 1 : READER_BLOCK_BYTES;

		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		*b = (struct reader_block){.next = arena->blocks, .size = size};
		arena->blocks = b;
	}
	copy = b->bytes + b->used;
	if (len)
		memcpy(copy, s, len);
	copy[len] = '\0';
	b->used += len + 1;
	return copy;
}

static void load_arena_free(struct reader_arena *arena)
{
	while (arena->blocks) {
		struct reader_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
}

/* Copies a text column to the arena; for SQL's NULL, gives `if_null`. Returns 0, -ENOMEM or
 * -EBADMSG. */
static int load_text(sqlite3_stmt *row, int column, struct reader_arena *arena, const char *if_null,
		     const char **ret_text)
{
	const char *s = (const char *)sqlite3_column_text(row, column);
	size_t len = (size_t)sqlite3_column_bytes(row, column);

	if (!s) {
		*ret_text = if_null;
		return sqlite3_column_type(row, column) == SQLITE_NULL ? 0 : -ENOMEM;
	}
	if (len > STORE_MAX_STRING)
		return -EBADMSG;
	*ret_text = store_load_copy(arena, s, strnlen(s, len));
	return *ret_text ? 0 : -ENOMEM;
}

static uint64_t load_u64(sqlite3_stmt *row, int column)
{
	return (uint64_t)sqlite3_column_int64(row, column);
}

/* --- rows ----------------------------------------------------------------------------------- */

int store_load_prepare(sqlite3 *db, const char *sql, const int64_t *parameters, int n,
		       sqlite3_stmt **ret_stmt)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	for (int i = 0; rc == SQLITE_OK && i < n; i++)
		rc = sqlite3_bind_int64(stmt, i + 1, parameters[i]);
	if (rc != SQLITE_OK) {
		int err = store_db_errno(db, rc);

		sqlite3_finalize(stmt);
		return err;
	}
	*ret_stmt = stmt;
	return 0;
}

int store_load_recording(sqlite3_stmt *row, struct reader_arena *arena,
			 struct store_recording *ret_recording)
{
	struct store_recording rec = {
		.id = sqlite3_column_int64(row, 0),
		.start_unix_ns = load_u64(row, 1),
		.start_ns = load_u64(row, 2),
		.end_ns = load_u64(row, 3),
		.frequency_hz = load_u64(row, 11),
		.period = load_u64(row, 12),
		.cpus = (uint32_t)load_u64(row, 13),
		.finished = sqlite3_column_int(row, 14) != 0,
		.samples = load_u64(row, 15),
		.lost = load_u64(row, 16),
		.kernel_ns = load_u64(row, 17),
		.kernel_runs = load_u64(row, 18),
		.run = sqlite3_column_int64(row, 19),
	};
	const char **texts[] = {&rec.host,   &rec.kernel, &rec.arch, &rec.command,
				&rec.target, &rec.event,  &rec.note};
	int err = 0;

	for (int i = 0; err == 0 && i < 7; i++)
		err = load_text(row, 4 + i, arena, "", texts[i]);
	if (err == 0)
		*ret_recording = rec;
	return err;
}

static int load_object(struct store_reader *r, sqlite3_stmt *row)
{
	struct store_object o = {.number = (uint32_t)r->objects.count,
				 .kind = (uint32_t)load_u64(row, 1),
				 .file_id = load_u64(row, 2),
				 .build_id_len = (size_t)sqlite3_column_bytes(row, 4),
				 .layout = load_u64(row, 6)};
	const void *build_id = sqlite3_column_blob(row, 4);
	int err;

	if (o.build_id_len > STORE_MAX_BUILD_ID)
		return -EBADMSG;
	err = load_text(row, 3, &r->arena, "", &o.path);
	if (err == 0)
		err = load_text(row, 5, &r->arena, NULL, &o.problem);
	if (err < 0)
		return err;
	o.build_id = (uint8_t *)store_load_copy(&r->arena, build_id, o.build_id_len);
	if (!o.build_id || VEC_RESERVE(&r->objects, 1) < 0)
		return -ENOMEM;
	r->objects.items[r->objects.count++] = o;
	return 0;
}

static int load_process(struct store_reader *r, sqlite3_stmt *row)
{
	struct store_process p = {.number = (uint32_t)r->processes.count,
				  .pid = sqlite3_column_int(row, 1),
				  .parent = sqlite3_column_int(row, 2)};
	int err = load_text(row, 3, &r->arena, "", &p.comm);

	if (err == 0)
		err = load_text(row, 4, &r->arena, NULL, &p.exe);
	if (err == 0)
		err = VEC_RESERVE(&r->processes, 1);
	if (err == 0)
		r->processes.items[r->processes.count++] = p;
	return err;
}

static int load_thread(struct store_reader *r, sqlite3_stmt *row)
{
	struct store_thread t = {.number = (uint32_t)r->threads.count,
				 .process = (uint32_t)load_u64(row, 1),
				 .tid = sqlite3_column_int(row, 2)};
	int err = load_text(row, 3, &r->arena, "", &t.comm);

	if (err == 0 && load_u64(row, 1) >= r->processes.count)
		err = -EBADMSG;
	if (err == 0)
		err = VEC_RESERVE(&r->threads, 1);
	if (err == 0)
		r->threads.items[r->threads.count++] = t;
	return err;
}

/* Calls `each` for the rows of a table, whose first column must count from 0. */
static int load_rows(struct store_reader *r, const char *table, const char *sql,
		     int (*each)(struct store_reader *r, sqlite3_stmt *row))
{
	sqlite3_stmt *stmt;
	int64_t expected = 0;
	int err, rc;

	r->damaged = table;
	err = store_load_prepare(r->db, sql, &r->tables.recording.id, 1, &stmt);
	if (err < 0)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (sqlite3_column_int64(stmt, 0) != expected || expected >= STORE_MAX_ROWS)
			err = -EBADMSG;
		if (err == 0)
			err = each(r, stmt);
		if (err < 0)
			break;
		expected++;
	}
	sqlite3_finalize(stmt);
	return err < 0 ? err : store_db_errno(r->db, rc);
}

/* Counters have no numbers, so their names must be in ascending order: that bounds the time,
 * too. */
static int load_counters(struct store_reader *r)
{
	sqlite3_stmt *stmt;
	int err, rc;

	r->damaged = "table counters";
	err = store_load_prepare(r->db,
				 "SELECT name, value FROM counters WHERE recording=?"
				 " AND name<>'" STORE_RUN_COUNTER "' ORDER BY name",
				 &r->tables.recording.id, 1, &stmt);
	if (err < 0)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct store_counter c = {.value = load_u64(stmt, 1)};
		size_t n = r->counters.count;

		err = load_text(stmt, 0, &r->arena, "", &c.name);
		if (err == 0 && (n >= STORE_MAX_COUNTERS ||
				 (n && strcmp(r->counters.items[n - 1].name, c.name) >= 0)))
			err = -EBADMSG;
		if (err == 0)
			err = VEC_RESERVE(&r->counters, 1);
		if (err < 0)
			break;
		r->counters.items[r->counters.count++] = c;
	}
	sqlite3_finalize(stmt);
	return err < 0 ? err : store_db_errno(r->db, rc);
}

/* --- tags ----------------------------------------------------------------------------------- */

int store_reader_tags(struct store_reader *r, const uint64_t **ret_tags)
{
	const struct store_tables *t = &r->tables;
	uint64_t *ids, *tags;

	if (r->tags) {
		*ret_tags = r->tags;
		return 0;
	}
	ids = vec_alloc((size_t)t->n_locations + 1, sizeof(*ids));
	tags = vec_alloc(t->n_nodes, sizeof(*tags));
	if (!ids || !tags) {
		free(ids);
		free(tags);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < t->n_locations; i++) {
		const struct store_location *l = &t->locations[i];

		ids[i] = location_id(t->objects[l->object].file_id, l->offset);
	}
	tags[0] = 0;
	for (uint32_t i = 1; i < t->n_nodes; i++)
		tags[i] = hash_chain(tags[t->nodes[i].parent], ids[t->nodes[i].location]);
	free(ids);
	*ret_tags = r->tags = tags;
	return 0;
}

/* --- all ------------------------------------------------------------------------------------ */

static int load_all_rows(struct store_reader *r)
{
	static const char with_layouts[] =
		"SELECT number, kind, file_id, path, build_id, problem, layout FROM objects"
		" WHERE recording=? ORDER BY number";
	static const char without_layouts[] =
		"SELECT number, kind, file_id, path, build_id, problem, 0 FROM objects"
		" WHERE recording=? ORDER BY number";
	int err = load_rows(r, "table objects", r->has_layouts ? with_layouts : without_layouts,
			    load_object);

	if (err == 0)
		err = load_rows(r, "table processes",
				"SELECT number, pid, parent, comm, exe FROM processes"
				" WHERE recording=? ORDER BY number",
				load_process);
	if (err == 0)
		err = load_rows(r, "table threads",
				"SELECT number, process, tid, comm FROM threads"
				" WHERE recording=? ORDER BY number",
				load_thread);
	return err == 0 ? load_counters(r) : err;
}

void store_load_publish(struct store_reader *r)
{
	struct store_tables *t = &r->tables;

	t->objects = r->objects.items;
	t->n_objects = (uint32_t)r->objects.count;
	t->locations = r->locations.items;
	t->n_locations = (uint32_t)r->locations.count;
	t->lines = r->lines;
	t->line_first = r->line_first;
	t->n_lines = r->line_first[r->locations.count];
	t->processes = r->processes.items;
	t->n_processes = (uint32_t)r->processes.count;
	t->threads = r->threads.items;
	t->n_threads = (uint32_t)r->threads.count;
	t->nodes = r->nodes.nodes.items;
	t->n_nodes = (uint32_t)r->nodes.nodes.count;
	t->origins = r->origins.items;
	t->n_origins = (uint32_t)r->origins.count;
	t->sizes = r->sizes.items;
	t->counters = r->counters.items;
	t->n_counters = (uint32_t)r->counters.count;
}

int store_load_figures(struct store_reader *r)
{
	int err = load_counters(r);

	r->tables.counters = r->counters.items;
	r->tables.n_counters = (uint32_t)r->counters.count;
	return err;
}

int store_load_tables(struct store_reader *r)
{
	int err = load_all_rows(r);

	if (err == 0)
		err = store_load_chunks(r);
	if (err == 0)
		store_load_publish(r);
	r->tables.n_recordings = 1;
	r->tables.last_recording = r->tables.recording.id;
	return err;
}

void store_load_free_arrays(struct store_reader *r)
{
	free(r->objects.items);
	free(r->processes.items);
	free(r->threads.items);
	free(r->counters.items);
	free(r->locations.items);
	free(r->lines);
	free(r->line_first);
	free(r->tags);
	free(r->shown);
	free(r->origins.items);
	free(r->runs.items);
	free(r->sizes.items);
	node_coder_fini(&r->nodes);
	r->objects = (typeof(r->objects)){0};
	r->processes = (typeof(r->processes)){0};
	r->threads = (typeof(r->threads)){0};
	r->counters = (typeof(r->counters)){0};
	r->locations = (typeof(r->locations)){0};
	r->origins = (typeof(r->origins)){0};
	r->runs = (typeof(r->runs)){0};
	r->sizes = (typeof(r->sizes)){0};
	r->lines = NULL;
	r->line_first = NULL;
	r->tags = NULL;
}

static void load_free_part(struct reader_part *part)
{
	free(part->threads);
	free(part->nodes);
	free(part->origins);
	store_load_free(part->window);
	free(part->window);
}

void store_load_free(struct store_reader *r)
{
	for (size_t i = 0; i < r->parts.count; i++)
		load_free_part(&r->parts.items[i]);
	free(r->parts.items);
	free(r->selected.items);
	free(r->sums.items);
	free(r->labels.items);
	store_load_free_arrays(r);
	load_arena_free(&r->arena);
}
