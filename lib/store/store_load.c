/* SPDX-License-Identifier: MIT */
/*
 * From a file that is not trusted to arrays that are: every number is checked against what it
 * refers to before it is kept, and every table against its limit before it grows.
 *
 * Rows must be numbered densely in order. That is also what bounds the time: a damaged b-tree can
 * offer the same pages again and again, but not with ever new numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "stack/location.h"
#include "store/chunk.h"
#include "store/reader_state.h"

/* --- strings -------------------------------------------------------------------------------- */

struct reader_block {
	struct reader_block *next;
	size_t used, size;
	char bytes[];
};

#define READER_BLOCK_BYTES (64u << 10)

/* A copy with a final NUL, or NULL for lack of memory. */
static char *load_copy(struct reader_arena *arena, const char *s, size_t len)
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

/* A text column: 0, -ENOMEM, -EBADMSG. SQL's NULL becomes `if_null`. */
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
	*ret_text = load_copy(arena, s, strnlen(s, len));
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
		int r = store_db_errno(db, rc);

		sqlite3_finalize(stmt);
		return r;
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
	};
	const char **texts[] = {&rec.host,   &rec.kernel, &rec.arch, &rec.command,
				&rec.target, &rec.event,  &rec.note};
	int r = 0;

	for (int i = 0; r == 0 && i < 7; i++)
		r = load_text(row, 4 + i, arena, "", texts[i]);
	if (r == 0)
		*ret_recording = rec;
	return r;
}

static int load_object(struct store_reader *r, sqlite3_stmt *row)
{
	struct store_object o = {.number = (uint32_t)r->objects.count,
				 .kind = (uint32_t)load_u64(row, 1),
				 .file_id = load_u64(row, 2),
				 .build_id_len = (size_t)sqlite3_column_bytes(row, 4)};
	const void *build_id = sqlite3_column_blob(row, 4);
	int e;

	if (o.build_id_len > STORE_MAX_BUILD_ID)
		return -EBADMSG;
	e = load_text(row, 3, &r->arena, "", &o.path);
	if (e == 0)
		e = load_text(row, 5, &r->arena, NULL, &o.problem);
	if (e < 0)
		return e;
	o.build_id = (uint8_t *)load_copy(&r->arena, build_id, o.build_id_len);
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
	int e = load_text(row, 3, &r->arena, "", &p.comm);

	if (e == 0)
		e = load_text(row, 4, &r->arena, NULL, &p.exe);
	if (e == 0)
		e = VEC_RESERVE(&r->processes, 1);
	if (e == 0)
		r->processes.items[r->processes.count++] = p;
	return e;
}

static int load_thread(struct store_reader *r, sqlite3_stmt *row)
{
	struct store_thread t = {.number = (uint32_t)r->threads.count,
				 .process = (uint32_t)load_u64(row, 1),
				 .tid = sqlite3_column_int(row, 2)};
	int e = load_text(row, 3, &r->arena, "", &t.comm);

	if (e == 0 && load_u64(row, 1) >= r->processes.count)
		e = -EBADMSG;
	if (e == 0)
		e = VEC_RESERVE(&r->threads, 1);
	if (e == 0)
		r->threads.items[r->threads.count++] = t;
	return e;
}

/* Calls `each` for the rows of a table, whose first column must count from 0. */
static int load_rows(struct store_reader *r, const char *table, const char *sql,
		     int (*each)(struct store_reader *r, sqlite3_stmt *row))
{
	sqlite3_stmt *stmt;
	int64_t expected = 0;
	int e, rc;

	r->damaged = table;
	e = store_load_prepare(r->db, sql, &r->tables.recording.id, 1, &stmt);
	if (e < 0)
		return e;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (sqlite3_column_int64(stmt, 0) != expected || expected >= STORE_MAX_ROWS)
			e = -EBADMSG;
		if (e == 0)
			e = each(r, stmt);
		if (e < 0)
			break;
		expected++;
	}
	sqlite3_finalize(stmt);
	return e < 0 ? e : store_db_errno(r->db, rc);
}

/* Counters are numbered by name: each must be greater than the one before. */
static int load_counters(struct store_reader *r)
{
	sqlite3_stmt *stmt;
	int e, rc;

	r->damaged = "table counters";
	e = store_load_prepare(r->db,
			       "SELECT name, value FROM counters WHERE recording=? ORDER BY name",
			       &r->tables.recording.id, 1, &stmt);
	if (e < 0)
		return e;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct store_counter c = {.value = load_u64(stmt, 1)};
		size_t n = r->counters.count;

		e = load_text(stmt, 0, &r->arena, "", &c.name);
		if (e == 0 && (n >= STORE_MAX_COUNTERS ||
			       (n && strcmp(r->counters.items[n - 1].name, c.name) >= 0)))
			e = -EBADMSG;
		if (e == 0)
			e = VEC_RESERVE(&r->counters, 1);
		if (e < 0)
			break;
		r->counters.items[r->counters.count++] = c;
	}
	sqlite3_finalize(stmt);
	return e < 0 ? e : store_db_errno(r->db, rc);
}

/* --- chunks --------------------------------------------------------------------------------- */

/* What exists only while loading. */
struct load {
	struct store_reader *r;
	VEC(const char *) strings; /* [0] is NULL: none */
	VEC(struct table_function) functions;
	VEC(struct table_line) lines;
	struct function_coder function_coder;
	struct location_coder location_coder;
	struct line_coder line_coder;
	struct size_coder *size_coder;
};

typedef int (*load_entry)(struct load *l, struct buf_reader *columns);

static int load_string(struct load *l, struct buf_reader *columns)
{
	size_t len;
	const char *s = string_get(columns, &len), *copy;

	if (len > STORE_MAX_STRING || l->strings.count > STORE_MAX_STRINGS)
		return -EBADMSG;
	copy = load_copy(&l->r->arena, s, len);
	if (!copy || VEC_RESERVE(&l->strings, 1) < 0)
		return -ENOMEM;
	l->strings.items[l->strings.count++] = copy;
	return 0;
}

static int load_function(struct load *l, struct buf_reader *columns)
{
	struct table_function f = function_get(&l->function_coder, columns);

	if (f.name >= l->strings.count || f.file >= l->strings.count ||
	    l->functions.count >= STORE_MAX_LINES)
		return -EBADMSG;
	if (VEC_RESERVE(&l->functions, 1) < 0)
		return -ENOMEM;
	l->functions.items[l->functions.count++] = f;
	return 0;
}

static int load_location(struct load *l, struct buf_reader *columns)
{
	struct store_reader *r = l->r;
	struct store_location loc = {.number = (uint32_t)r->locations.count};
	int e;

	if (r->locations.count >= STORE_MAX_LOCATIONS)
		return -EBADMSG;
	e = location_get(&l->location_coder, columns, (uint32_t)r->objects.count, &loc);
	if (e == 0)
		e = VEC_RESERVE(&r->locations, 1);
	if (e == 0)
		r->locations.items[r->locations.count++] = loc;
	return e;
}

static int load_line(struct load *l, struct buf_reader *columns)
{
	struct table_line line = line_get(&l->line_coder, columns);

	if (line.location >= l->r->locations.count || line.depth >= STORE_MAX_DEPTH ||
	    line.function >= l->functions.count || l->lines.count >= STORE_MAX_LINES)
		return -EBADMSG;
	if (VEC_RESERVE(&l->lines, 1) < 0)
		return -ENOMEM;
	l->lines.items[l->lines.count++] = line;
	return 0;
}

static int load_node(struct load *l, struct buf_reader *columns)
{
	if (l->r->nodes.nodes.count > STORE_MAX_NODES)
		return -EBADMSG;
	return node_get(&l->r->nodes, columns, (uint32_t)l->r->locations.count);
}

static int load_origin(struct load *l, struct buf_reader *columns)
{
	struct store_reader *r = l->r;
	struct origin origin;
	int e;

	if (r->origins.count >= STORE_MAX_ORIGINS || r->runs.count >= STORE_MAX_RUNS)
		return -EBADMSG;
	if (VEC_RESERVE(&r->origins, 1) < 0 || VEC_RESERVE(&r->runs, ORIGIN_MAX_RUNS) < 0)
		return -ENOMEM;
	e = origin_get(columns, r->runs.items + r->runs.count, &origin);
	if (e < 0)
		return e;
	r->origins.items[r->origins.count++] = origin;
	r->runs.count += origin.n_runs;
	return 0;
}

static int load_size(struct load *l, struct buf_reader *columns)
{
	struct store_reader *r = l->r;
	const struct store_node *nodes = r->nodes.nodes.items, *node = &nodes[r->sizes.count];

	if (r->sizes.count >= r->nodes.nodes.count)
		return -EBADMSG;
	r->sizes.items[r->sizes.count++] =
		size_get(l->size_coder, columns, &nodes[node->parent], node);
	return 0;
}

/* Makes room for the sizes of all nodes; those that no chunk has stay 0. */
static int load_prepare_sizes(struct load *l)
{
	size_t n = l->r->nodes.nodes.count;

	l->size_coder = calloc(1, sizeof(*l->size_coder));
	if (!l->size_coder || VEC_RESERVE(&l->r->sizes, n) < 0)
		return -ENOMEM;
	memset(l->r->sizes.items, 0, n * sizeof(*l->r->sizes.items));
	l->r->sizes.count = 1;
	return 0;
}

/* The runs have their final place: each origin's stand after those of the one before. */
static void load_place_runs(struct store_reader *r)
{
	const struct origin_run *at = r->runs.items;

	for (size_t i = 1; i < r->origins.count; i++) {
		r->origins.items[i].runs = at;
		at += r->origins.items[i].n_runs;
	}
}

/* The entries of one chunk: the row is (seq, count, data). */
static int load_chunk(struct load *l, sqlite3_stmt *row, enum table_kind kind, load_entry entry)
{
	int64_t count = sqlite3_column_int64(row, 1);
	const void *blob = sqlite3_column_blob(row, 2);
	struct chunk chunk;
	int e;

	if (count < 1 || count > TABLE_CODEC_MAX)
		return -EBADMSG;
	e = chunk_unpack(blob, (size_t)sqlite3_column_bytes(row, 2), table_columns(kind), &chunk);
	if (e < 0)
		return e;
	for (int64_t i = 0; e == 0 && i < count; i++)
		e = entry(l, chunk.column);
	if (e == 0 && !chunk_done(&chunk))
		e = -EBADMSG;
	chunk_release(&chunk);
	return e;
}

static int load_chunks(struct load *l, enum table_kind kind, const char *name, load_entry entry)
{
	const int64_t parameters[] = {l->r->tables.recording.id, kind};
	sqlite3_stmt *stmt;
	int64_t expected = 0;
	int e, rc;

	l->r->damaged = name;
	e = store_load_prepare(l->r->db,
			       "SELECT seq, count, data FROM chunks INDEXED BY chunks_by_kind"
			       " WHERE recording=? AND kind=? ORDER BY seq",
			       parameters, 2, &stmt);
	if (e < 0)
		return e;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		e = sqlite3_column_int64(stmt, 0) == expected ? 0 : -EBADMSG;
		if (e == 0)
			e = load_chunk(l, stmt, kind, entry);
		if (e < 0)
			break;
		expected++;
	}
	sqlite3_finalize(stmt);
	return e < 0 ? e : store_db_errno(l->r->db, rc);
}

/* --- lines by location ---------------------------------------------------------------------- */

static int load_compare_depth(const void *a, const void *b)
{
	const struct store_line *x = a, *y = b;

	return (x->depth > y->depth) - (x->depth < y->depth);
}

/* Orders the lines of one location by depth: they nearly always are in order. */
static int load_sort_depths(struct store_line *lines, uint32_t count)
{
	bool is_sorted = true;

	for (uint32_t i = 1; i < count; i++)
		is_sorted = is_sorted && lines[i - 1].depth < lines[i].depth;
	if (is_sorted)
		return 0;
	qsort(lines, count, sizeof(*lines), load_compare_depth);
	for (uint32_t i = 1; i < count; i++) {
		if (lines[i - 1].depth == lines[i].depth)
			return -EBADMSG;
	}
	return 0;
}

static struct store_line load_resolve(const struct load *l, const struct table_line *line)
{
	const struct table_function *f = &l->functions.items[line->function];

	return (struct store_line){
		.location = line->location,
		.depth = line->depth,
		.function = l->strings.items[f->name],
		.file = l->strings.items[f->file],
		.line = line->line,
		.function_start = f->start,
		.is_inlined = line->is_inlined,
	};
}

/* Sorts by counting: fills lines and line_first. */
static int load_place_lines(struct load *l)
{
	struct store_reader *r = l->r;
	size_t n = r->locations.count, count = l->lines.count;
	uint32_t *first = calloc(n + 2, sizeof(*first));
	struct store_line *lines = reallocarray(NULL, count + 1, sizeof(*lines));
	int e = 0;

	r->line_first = first;
	r->lines = lines;
	if (!first || !lines)
		return -ENOMEM;
	/* first[i + 1] ends up as where location i starts, then moves to where it ends. */
	for (size_t i = 0; i < count; i++)
		first[l->lines.items[i].location + 2]++;
	for (size_t i = 2; i < n + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < count; i++) {
		const struct table_line *line = &l->lines.items[i];

		lines[first[line->location + 1]++] = load_resolve(l, line);
	}
	for (size_t i = 0; e == 0 && i < n; i++)
		e = load_sort_depths(lines + first[i], first[i + 1] - first[i]);
	return e;
}

/* --- tags ----------------------------------------------------------------------------------- */

static int load_tags(struct store_reader *r)
{
	size_t n_nodes = r->nodes.nodes.count, n_locations = r->locations.count;
	uint64_t *ids = reallocarray(NULL, n_locations + 1, sizeof(*ids));
	uint64_t *tags = reallocarray(NULL, n_nodes, sizeof(*tags));

	r->tags = tags;
	if (!ids || !tags) {
		free(ids);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n_locations; i++) {
		const struct store_location *l = &r->locations.items[i];

		ids[i] = location_id(r->objects.items[l->object].file_id, l->offset);
	}
	tags[0] = 0;
	for (size_t i = 1; i < n_nodes; i++) {
		const struct store_node *node = &r->nodes.nodes.items[i];

		tags[i] = hash_chain(tags[node->parent], ids[node->location]);
	}
	free(ids);
	return 0;
}

/* --- all ------------------------------------------------------------------------------------ */

static int load_all_rows(struct store_reader *r)
{
	int e = load_rows(r, "table objects",
			  "SELECT number, kind, file_id, path, build_id, problem FROM objects"
			  " WHERE recording=? ORDER BY number",
			  load_object);

	if (e == 0)
		e = load_rows(r, "table processes",
			      "SELECT number, pid, parent, comm, exe FROM processes"
			      " WHERE recording=? ORDER BY number",
			      load_process);
	if (e == 0)
		e = load_rows(r, "table threads",
			      "SELECT number, process, tid, comm FROM threads"
			      " WHERE recording=? ORDER BY number",
			      load_thread);
	return e == 0 ? load_counters(r) : e;
}

static int load_all_chunks(struct load *l)
{
	static const struct {
		const char *name;
		load_entry entry;
	} kinds[TABLE_KINDS] = {
		[TABLE_STRINGS] = {"table chunks, strings", load_string},
		[TABLE_FUNCTIONS] = {"table chunks, functions", load_function},
		[TABLE_LOCATIONS] = {"table chunks, locations", load_location},
		[TABLE_LINES] = {"table chunks, lines", load_line},
		[TABLE_NODES] = {"table chunks, nodes", load_node},
		[TABLE_ORIGINS] = {"table chunks, origins", load_origin},
		[TABLE_SIZES] = {"table chunks, sizes", load_size},
	};
	int e = VEC_RESERVE(&l->strings, 1);

	if (e == 0)
		l->strings.items[l->strings.count++] = NULL;
	if (e == 0)
		e = node_coder_init(&l->r->nodes);
	if (e == 0)
		e = VEC_RESERVE(&l->r->origins, 1);
	if (e == 0)
		l->r->origins.items[l->r->origins.count++] = (struct origin){0};
	for (unsigned kind = 0; e == 0 && kind < TABLE_KINDS; kind++) {
		if (kind == TABLE_SIZES)
			e = load_prepare_sizes(l);
		if (e == 0 && kinds[kind].entry)
			e = load_chunks(l, kind, kinds[kind].name, kinds[kind].entry);
	}
	load_place_runs(l->r);
	l->r->damaged = "table chunks, lines";
	return e == 0 ? load_place_lines(l) : e;
}

static void load_publish(struct store_reader *r)
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
	t->tags = r->tags;
	t->n_nodes = (uint32_t)r->nodes.nodes.count;
	t->origins = r->origins.items;
	t->n_origins = (uint32_t)r->origins.count;
	t->sizes = r->sizes.count > 1 ? r->sizes.items : NULL;
	t->counters = r->counters.items;
	t->n_counters = (uint32_t)r->counters.count;
}

int store_load_tables(struct store_reader *r)
{
	struct load l = {.r = r};
	int e = load_all_rows(r);

	if (e == 0)
		e = load_all_chunks(&l);
	if (e == 0)
		e = load_tags(r);
	if (e == 0)
		load_publish(r);
	free(l.strings.items);
	free(l.functions.items);
	free(l.lines.items);
	free(l.size_coder);
	location_coder_fini(&l.location_coder);
	return e;
}

void store_load_free(struct store_reader *r)
{
	free(r->objects.items);
	free(r->processes.items);
	free(r->threads.items);
	free(r->counters.items);
	free(r->locations.items);
	free(r->lines);
	free(r->line_first);
	free(r->tags);
	free(r->origins.items);
	free(r->runs.items);
	free(r->sizes.items);
	node_coder_fini(&r->nodes);
	load_arena_free(&r->arena);
}
