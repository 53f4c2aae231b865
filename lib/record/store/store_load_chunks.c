/* SPDX-License-Identifier: MIT */
/*
 * The large tables, of chunks: strings, functions, locations, lines, the trie's nodes.
 *
 * If a program takes ever new paths, nodes are most of its recording, and decoding them takes most
 * of the time of opening it. It needs nothing but the number of locations, so a thread of its own
 * decodes them while the rest is read:
 *
 *   locations ──► strings, functions, lines, origins ──► lines by location ──┐
 *       └───────► nodes ─────────────────────────────────────────────────────┴──► sizes
 *
 * A connection to SQLite is for one thread at a time, so every query holds a lock; rows
 * are copied, and unpacked and decoded without it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/big.h"
#include "base/thread.h"
#include "store/chunk.h"
#include "store/reader_state.h"

#define LOAD_EXPECTED (16 << 20) /* nodes for which room is reserved at most */

/* State of a load, which ends with it. */
struct load {
	struct store_reader *r;
	pthread_mutex_t lock;	   /* held while the connection is used */
	VEC(const char *) strings; /* strings[0] is NULL: none */
	VEC(struct table_function) functions;
	VEC(struct table_line) lines;
	struct function_coder function_coder;
	struct location_coder location_coder;
	struct line_coder line_coder;
	struct cgroup_coder cgroup_coder, label_coder;
	struct size_coder *size_coder;
	size_t n_provenances;
};

static int load_string(struct load *l, struct buf_reader *columns)
{
	size_t len;
	const char *s = string_get(columns, &len), *copy;

	if (len > STORE_MAX_STRING || l->strings.count > STORE_MAX_STRINGS)
		return -EBADMSG;
	copy = store_load_copy(&l->r->arena, s, len);
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
	int err;

	if (r->locations.count >= STORE_MAX_LOCATIONS)
		return -EBADMSG;
	err = location_get(&l->location_coder, columns, (uint32_t)r->objects.count, &loc);
	if (err == 0)
		err = VEC_RESERVE(&r->locations, 1);
	if (err == 0)
		r->locations.items[r->locations.count++] = loc;
	return err;
}

/* Reads the provenance of the next location. Older stores lack those of some locations, which keep
 * PROVENANCE_NONE. */
static int load_provenance(struct load *l, struct buf_reader *columns)
{
	if (l->n_provenances >= l->r->locations.count)
		return -EBADMSG;
	return provenance_get(columns, &l->r->locations.items[l->n_provenances++].provenance);
}

/* Reads the cgroup of a thread. Threads without one, as in older stores, keep NULL. */
static int load_cgroup(struct load *l, struct buf_reader *columns)
{
	struct table_cgroup cgroup = cgroup_get(&l->cgroup_coder, columns);
	struct store_thread *thread;

	if (cgroup.thread >= l->r->threads.count || cgroup.path >= l->strings.count)
		return -EBADMSG;
	thread = &l->r->threads.items[cgroup.thread];
	if (thread->cgroup)
		return -EBADMSG;
	thread->cgroup = l->strings.items[cgroup.path];
	return thread->cgroup ? 0 : -EBADMSG;
}

/* Reads the labels of a thread. Of several sets of a thread the last one is valid. */
static int load_labels(struct load *l, struct buf_reader *columns)
{
	struct table_cgroup labels = cgroup_get(&l->label_coder, columns);

	if (labels.thread >= l->r->threads.count || labels.path >= l->strings.count)
		return -EBADMSG;
	l->r->threads.items[labels.thread].label_set = l->strings.items[labels.path];
	return 0;
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

static int load_origin(struct load *l, struct buf_reader *columns)
{
	struct store_reader *r = l->r;
	struct origin origin;
	int err;

	if (r->origins.count >= STORE_MAX_ORIGINS || r->runs.count >= STORE_MAX_RUNS)
		return -EBADMSG;
	if (VEC_RESERVE(&r->origins, 1) < 0 || VEC_RESERVE(&r->runs, ORIGIN_MAX_RUNS) < 0)
		return -ENOMEM;
	err = origin_get(columns, r->runs.items + r->runs.count, &origin);
	if (err < 0)
		return err;
	r->origins.items[r->origins.count++] = origin;
	r->runs.count += origin.n_runs;
	return 0;
}

/* Makes room for the sizes of all nodes; nodes that no chunk mentions keep size 0. */
static int load_prepare_sizes(struct load *l)
{
	l->size_coder = calloc(1, sizeof(*l->size_coder));
	l->r->sizes.items = big_calloc(l->r->nodes.nodes.count, sizeof(*l->r->sizes.items));
	l->r->sizes.count = 1;
	return l->size_coder && l->r->sizes.items ? 0 : -ENOMEM;
}

static int load_size(struct load *l, struct buf_reader *columns)
{
	struct store_reader *r = l->r;
	const struct store_node *nodes = r->nodes.nodes.items, *node;

	if (!l->size_coder && load_prepare_sizes(l) < 0)
		return -ENOMEM;
	if (r->sizes.count >= r->nodes.nodes.count)
		return -EBADMSG;
	node = &nodes[r->sizes.count];
	r->sizes.items[r->sizes.count++] =
		size_get(l->size_coder, columns, &nodes[node->parent], node);
	return 0;
}

/* Links each origin to its runs, whose addresses are final now. The runs of all origins are in one
 * array, in the order of the origins. */
static void load_link_runs(struct store_reader *r)
{
	const struct origin_run *at = r->runs.items;

	for (size_t i = 1; i < r->origins.count; i++) {
		r->origins.items[i].runs = at;
		at += r->origins.items[i].n_runs;
	}
}

/* --- chunks --------------------------------------------------------------------------------- */

struct load_kind {
	const char *name;
	/* Reads one entry; NULL: load_nodes() reads the whole chunk. */
	int (*entry)(struct load *l, struct buf_reader *columns);
};

static const struct load_kind load_kinds[TABLE_KINDS] = {
	[TABLE_STRINGS] = {"table chunks, strings", load_string},
	[TABLE_FUNCTIONS] = {"table chunks, functions", load_function},
	[TABLE_LOCATIONS] = {"table chunks, locations", load_location},
	[TABLE_LINES] = {"table chunks, lines", load_line},
	[TABLE_NODES] = {"table chunks, nodes", NULL},
	[TABLE_ORIGINS] = {"table chunks, origins", load_origin},
	[TABLE_SIZES] = {"table chunks, sizes", load_size},
	[TABLE_PROVENANCES] = {"table chunks, provenances", load_provenance},
	[TABLE_CGROUPS] = {"table chunks, cgroups", load_cgroup},
	[TABLE_LABELS] = {"table chunks, labels", load_labels},
};

struct load_row {
	int64_t seq, count;
	struct buf blob;
};

static int load_nodes(struct load *l, struct buf_reader *columns, size_t count)
{
	struct node_coder *nodes = &l->r->nodes;

	if (count > STORE_MAX_NODES + 1 - nodes->nodes.count)
		return -EBADMSG;
	return node_get_all(nodes, columns, count, (uint32_t)l->r->locations.count);
}

static int load_chunk(struct load *l, const struct load_row *row, enum table_kind kind)
{
	struct chunk chunk;
	int err;

	if (row->count < 1 || row->count > TABLE_CODEC_MAX)
		return -EBADMSG;
	err = chunk_unpack(row->blob.data, row->blob.len, table_columns(kind), &chunk);
	if (err < 0)
		return err;
	if (!load_kinds[kind].entry)
		err = load_nodes(l, chunk.column, (size_t)row->count);
	for (int64_t i = 0; err == 0 && load_kinds[kind].entry && i < row->count; i++)
		err = load_kinds[kind].entry(l, chunk.column);
	if (err == 0 && !chunk_done(&chunk))
		err = -EBADMSG;
	chunk_release(&chunk);
	return err;
}

/* Reads the row of the next chunk. Returns 0, 1 (there is none) or an error. */
static int load_next(struct load *l, sqlite3_stmt *stmt, struct load_row *row)
{
	int rc, err = 1;

	buf_clear(&row->blob);
	pthread_mutex_lock(&l->lock);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		row->seq = sqlite3_column_int64(stmt, 0);
		row->count = sqlite3_column_int64(stmt, 1);
		buf_put(&row->blob, sqlite3_column_blob(stmt, 2),
			(size_t)sqlite3_column_bytes(stmt, 2));
		err = row->blob.failed ? -ENOMEM : 0;
	} else if (rc != SQLITE_DONE) {
		err = store_db_errno(l->r->db, rc);
	}
	pthread_mutex_unlock(&l->lock);
	return err;
}

static int load_begin(struct load *l, enum table_kind kind, sqlite3_stmt **ret_stmt)
{
	const int64_t parameters[] = {l->r->tables.recording.id, kind};
	int err;

	pthread_mutex_lock(&l->lock);
	err = store_load_prepare(l->r->db,
				 "SELECT seq, count, data FROM chunks INDEXED BY chunks_by_kind"
				 " WHERE recording=? AND kind=? ORDER BY seq",
				 parameters, 2, ret_stmt);
	pthread_mutex_unlock(&l->lock);
	return err;
}

/* Reads all chunks of a kind. */
static int load_all(struct load *l, enum table_kind kind)
{
	struct load_row row = {0};
	int64_t expected = 0;
	sqlite3_stmt *stmt;
	int err = load_begin(l, kind, &stmt);

	if (err < 0)
		return err;
	while ((err = load_next(l, stmt, &row)) == 0) {
		err = row.seq == expected++ ? load_chunk(l, &row, kind) : -EBADMSG;
		if (err < 0)
			break;
	}
	buf_free(&row.blob);
	pthread_mutex_lock(&l->lock);
	sqlite3_finalize(stmt);
	pthread_mutex_unlock(&l->lock);
	return err < 0 ? err : 0;
}

/* Does what load_all() does, and sets r->damaged to the kind's table beforehand. For the caller's
 * thread only. */
static int load_here(struct load *l, enum table_kind kind)
{
	l->r->damaged = load_kinds[kind].name;
	return load_all(l, kind);
}

/* --- lines by location ---------------------------------------------------------------------- */

static int load_compare_depth(const void *a, const void *b)
{
	const struct store_line *x = a, *y = b;

	return (x->depth > y->depth) - (x->depth < y->depth);
}

/* Sorts the lines of one location by depth. Nearly always they are in order already. */
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

/* Sorts the lines by location with a counting sort: fills lines and line_first. */
static int load_place_lines(struct load *l)
{
	struct store_reader *r = l->r;
	size_t n = r->locations.count, count = l->lines.count;
	uint32_t *first = calloc(n + 2, sizeof(*first));
	struct store_line *lines = big_alloc(count + 1, sizeof(*lines));
	int err = 0;

	r->line_first = first;
	r->lines = lines;
	if (!first || !lines)
		return -ENOMEM;
	/* first[i + 1] becomes the index where the lines of location i start; as they are placed,
	 * it moves to the index where they end. */
	for (size_t i = 0; i < count; i++)
		first[l->lines.items[i].location + 2]++;
	for (size_t i = 2; i < n + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < count; i++) {
		const struct table_line *line = &l->lines.items[i];

		lines[first[line->location + 1]++] = load_resolve(l, line);
	}
	for (size_t i = 0; err == 0 && i < n; i++)
		err = load_sort_depths(lines + first[i], first[i + 1] - first[i]);
	return err;
}

/* --- all ------------------------------------------------------------------------------------ */

/* The thread that decodes the nodes. */
struct load_apart {
	struct load *l;
	pthread_t thread;
	bool is_started;
	int result;
};

static void *load_thread(void *arg)
{
	struct load_apart *apart = arg;

	apart->result = load_all(apart->l, TABLE_NODES);
	return NULL;
}

/* Loads the nodes in a thread of their own, or in the caller's if none can be started. */
static void load_start(struct load *l, struct load_apart *ret_apart)
{
	*ret_apart = (struct load_apart){.l = l};
	ret_apart->is_started = thread_start(load_thread, ret_apart, &ret_apart->thread) == 0;
	if (!ret_apart->is_started)
		load_thread(ret_apart);
}

/* Waits for the thread that loads the nodes. `err` is the result of the caller's own part. Returns
 * `err` if it is an error, else the thread's result. */
static int load_join(struct load_apart *apart, int err)
{
	if (apart->is_started)
		pthread_join(apart->thread, NULL);
	if (err == 0 && apart->result < 0)
		apart->l->r->damaged = load_kinds[TABLE_NODES].name;
	return err < 0 ? err : apart->result;
}

/* Reserves room for as many nodes as the file claims to have, within a limit, so that the array
 * need not move as it grows. */
static int load_expect_nodes(struct load *l)
{
	const int64_t parameters[] = {l->r->tables.recording.id, TABLE_NODES};
	sqlite3_stmt *stmt;
	int64_t n = 0;
	int err = store_load_prepare(l->r->db,
				     "SELECT sum(count) FROM chunks INDEXED BY chunks_by_kind"
				     " WHERE recording=? AND kind=?",
				     parameters, 2, &stmt);

	if (err < 0)
		return err;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	n = n < 0 ? 0 : n > LOAD_EXPECTED ? LOAD_EXPECTED : n;
	return BIG_RESERVE(&l->r->nodes.nodes, (size_t)n);
}

/* Adds the entries with number 0, which no chunk has. */
static int load_prepare(struct load *l)
{
	struct store_reader *r = l->r;

	if (VEC_RESERVE(&l->strings, 1) < 0 || VEC_RESERVE(&r->origins, 1) < 0)
		return -ENOMEM;
	l->strings.items[l->strings.count++] = NULL;
	r->origins.items[r->origins.count++] = (struct origin){0};
	return node_coder_init(&r->nodes) < 0 ? -ENOMEM : load_expect_nodes(l);
}

/* Loads everything that lines and samples refer to, except for nodes. */
static int load_rest(struct load *l)
{
	static const enum table_kind kinds[] = {TABLE_STRINGS, TABLE_FUNCTIONS,	  TABLE_LINES,
						TABLE_ORIGINS, TABLE_PROVENANCES, TABLE_CGROUPS,
						TABLE_LABELS};
	int err = 0;

	for (size_t i = 0; err == 0 && i < sizeof(kinds) / sizeof(*kinds); i++)
		err = load_here(l, kinds[i]);
	if (err < 0)
		return err;
	load_link_runs(l->r);
	l->r->damaged = "table chunks, lines";
	return load_place_lines(l);
}

static int load_everything(struct load *l)
{
	struct load_apart nodes;
	int err = load_prepare(l);

	if (err == 0)
		err = load_here(l, TABLE_LOCATIONS);
	if (err < 0)
		return err;
	load_start(l, &nodes);
	err = load_join(&nodes, load_rest(l));
	return err == 0 ? load_here(l, TABLE_SIZES) : err;
}

int store_load_chunks(struct store_reader *r)
{
	struct load l = {.r = r, .lock = PTHREAD_MUTEX_INITIALIZER};
	int err = load_everything(&l);

	free(l.strings.items);
	free(l.functions.items);
	free(l.lines.items);
	free(l.size_coder);
	location_coder_fini(&l.location_coder);
	pthread_mutex_destroy(&l.lock);
	return err;
}
