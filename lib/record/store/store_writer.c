/* SPDX-License-Identifier: MIT */
/*
 * Takes the parts of a recording in as they appear.
 *
 * Objects, processes and threads wait as rows; strings, functions, locations, lines and nodes go
 * straight through their coders into the columns of a chunk, since they cost most and come in
 * order; samples wait as they are, since a chunk of them is sorted and regrouped as a whole.
 * A number out of order or out of range is refused here, so that no store can be written that its
 * reader would call damaged.
 */
#include "store/store_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "stack/provenance.h"
#include "store/store_path.h"
#include "store/writer_state.h"

/* A table's chunk is full when it has TABLE_CODEC_MAX entries, or when one of its columns has so
 * many bytes. */
#define WRITER_COLUMN_BYTES (4u << 20)
/* Most bytes that an entry without text adds to a column, so that columns without text never reach
 * WRITER_COLUMN_BYTES. */
#define WRITER_ENTRY_BYTES 16u

#define WRITER_PAUSE_MS 10 /* pause between two attempts to get a lock */

_Static_assert(WRITER_COLUMN_BYTES / WRITER_ENTRY_BYTES >= TABLE_CODEC_MAX, "a chunk has room");

/* --- opening -------------------------------------------------------------------------------- */

/* Returns whether a new file beside a store gets the store's owner. File systems that map users, as
 * NFS does with root_squash, and CIFS and vfat, give new files an owner other than the user of this
 * process. */
static bool has_owner_of_new(const char *path, const struct stat *store)
{
	char *real = realpath(path, NULL), *name = NULL;
	struct stat st;
	bool has = false;
	int fd = -1;

	if (real && asprintf(&name, "%s.XXXXXX", real) < 0)
		name = NULL;
	if (name)
		fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0) {
		has = !fstat(fd, &st) && st.st_dev == store->st_dev && st.st_uid == store->st_uid;
		unlink(name);
		close(fd);
	}
	free(name);
	free(real);
	return has;
}

/* Returns -EPERM if a file that is there belongs to another user, who would read what is written.
 */
static int check_owner(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	bool is_others = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
			 !store_path_is_ours(st.st_uid) && !has_owner_of_new(path, &st);

	if (fd >= 0)
		close(fd);
	return is_others ? -EPERM : 0;
}

/* Makes an empty file that only its owner can read. An existing file stays as it is. -EPERM: it
 * belongs to another user. */
static int writer_touch(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno == EEXIST ? check_owner(path) : -errno;
	close(fd);
	return 0;
}

/* Switches a new store to WAL mode. SQLite takes a shared lock and then an exclusive one. It does
 * not wait for a lock while it holds another, since two processes that did so could wait for each
 * other. So if two processes open one store at the same time, SQLite fails at once in one of them,
 * whatever the busy timeout, and that process must try again. */
static int writer_use_wal(sqlite3 *db)
{
	const struct timespec pause = {.tv_nsec = WRITER_PAUSE_MS * 1000000l};
	int err = store_db_exec(db, "PRAGMA journal_mode=WAL");

	for (int waited = 0; err == -EBUSY && waited < STORE_BUSY_MS; waited += WRITER_PAUSE_MS) {
		nanosleep(&pause, NULL);
		err = store_db_exec(db, "PRAGMA journal_mode=WAL");
	}
	return err;
}

/* Runs the pragmas of a writing connection. Distributions build SQLite with secure_delete, which
 * overwrites deleted data, and so would write each deleted window to the WAL once more. */
static int writer_configure(sqlite3 *db)
{
	int on = 1;
	int err = writer_use_wal(db);

	if (err == 0)
		err = store_db_exec(db, "PRAGMA synchronous=NORMAL;"
					"PRAGMA secure_delete=FAST;"
					"PRAGMA journal_size_limit=4194304");
	/* Keep the WAL and its index when the last connection closes, because a reader that cannot
	 * write to the folder could not create them. */
	sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
	return err;
}

static int writer_open(const char *path, sqlite3 **db, uint32_t *ret_version)
{
	enum store_db_kind kind;
	bool has_layouts;
	int err = writer_touch(path);

	if (err == 0)
		err = store_db_open(path, SQLITE_OPEN_READWRITE, db);
	if (err == 0)
		err = store_db_kind(*db, &kind, ret_version);
	if (err < 0)
		return err;
	if (kind == STORE_DB_NEWER)
		return -ENOTSUP;
	if (kind == STORE_DB_OTHER)
		return -EINVAL;
	if (kind == STORE_DB_EMPTY) {
		err = store_db_create(*db);
		if (err < 0)
			return err;
	}
	err = store_db_check_schema(*db, &has_layouts);
	if (err == 0)
		err = writer_configure(*db);
	if (err == 0 && ((kind == STORE_DB_STORE && *ret_version < STORE_VERSION) || !has_layouts))
		err = store_db_upgrade(*db);
	return err;
}

int store_writer_reserve(const char *path, int *ret_fd)
{
	/* O_NONBLOCK because the path may name a pipe, which is refused when it is opened as a
	 * store. */
	const int flags = O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd, err = writer_touch(path);

	if (err < 0)
		return err;
	fd = open(path, flags);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

bool store_writer_has_moved(const struct store_writer *w)
{
	int has_moved = 0;

	sqlite3_file_control(w->db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
	return has_moved;
}

static void writer_explain(const struct store_writer *w, const char *path, int err,
			   uint32_t version, char **ret_error)
{
	if (ret_error)
		*ret_error = store_db_sentence(path, err, version,
					       w && w->db ? sqlite3_errmsg(w->db) : "");
}

int store_writer_open(const char *path, struct store_writer **ret_writer, char **ret_error)
{
	struct store_writer *w = calloc(1, sizeof(*w));
	uint32_t version = 0;
	int err = w ? 0 : -ENOMEM;
	bool is_new;

	if (err == 0)
		err = node_coder_init(&w->node_coder);
	is_new = access(path, F_OK) && errno == ENOENT;
	if (err == 0)
		err = writer_open(path, &w->db, &version);
	if (err == 0) {
		w->made = is_new ? strdup(path) : NULL;
		*ret_writer = w;
		return 0;
	}
	writer_explain(w, path, err, version, ret_error);
	store_writer_free(w);
	return err;
}

int store_writer_begin(struct store_writer *w, const struct store_recording *info, const char *path,
		       char **ret_error)
{
	int err = store_retain_content(w, &w->start_bytes);

	if (err == 0)
		err = store_commit_begin(w, info);
	if (err < 0)
		writer_explain(w, path, err, 0, ret_error);
	return err;
}

int store_writer_new(const char *path, const struct store_recording *info,
		     struct store_writer **ret_writer, char **ret_error)
{
	struct store_writer *w;
	int err = store_writer_open(path, &w, ret_error);

	if (err < 0)
		return err;
	err = store_writer_begin(w, info, path, ret_error);
	if (err < 0)
		store_writer_free(w);
	else
		*ret_writer = w;
	return err;
}

static void writer_close(sqlite3 *db)
{
	/* Move all of the WAL into the main file, so that the main file can be copied alone. If
	 * another connection is using the WAL, the last connection that closes will do this. */
	sqlite3_busy_timeout(db, 200);
	sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_close(db);
}

/* Frees all memory of the recording. */
static void writer_forget(struct store_writer *w)
{
	store_commit_fini(w);
	store_commit_forget_rows(w);
	free(w->objects.items);
	free(w->processes.items);
	free(w->threads.items);
	for (size_t i = 0; i < w->counters.count; i++)
		free(w->counters.items[i].name);
	free(w->counters.items);
	for (unsigned t = 0; t < TABLE_KINDS; t++) {
		for (unsigned c = 0; c < CHUNK_MAX_COLUMNS; c++)
			buf_free(&w->tables[t].columns[c]);
	}
	for (size_t i = 0; i < w->full.count; i++)
		buf_free(&w->full.items[i].blob);
	free(w->full.items);
	for (unsigned i = 0; i < SERIES_COUNT; i++)
		free(w->series[i].records.items);
	store_intern_fini(&w->names);
	location_coder_fini(&w->location_coder);
	node_coder_fini(&w->node_coder);
	free(w->size_coder);
}

int store_writer_next_window(struct store_writer *w, const struct store_recording *info)
{
	struct store_writer next = {.db = w->db, .made = w->made, .run = w->run, .error = w->error};
	int err = node_coder_init(&next.node_coder);

	if (err == 0)
		err = store_retain_content(w, &next.start_bytes);
	if (next.start_bytes > w->start_bytes)
		next.window_bytes = next.start_bytes - w->start_bytes;
	if (err == 0)
		err = store_commit_begin(&next, info);
	w->error = next.error;
	if (err < 0) {
		node_coder_fini(&next.node_coder);
		return err;
	}
	writer_forget(w);
	*w = next;
	return 0;
}

/* Returns whether the first column of a query's first row is `word`. */
static bool query_answers(sqlite3 *db, const char *query, const char *word)
{
	sqlite3_stmt *stmt = NULL;
	bool is_so = false;

	if (sqlite3_prepare_v2(db, query, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		is_so = strcmp((const char *)sqlite3_column_text(stmt, 0), word) == 0;
	sqlite3_finalize(stmt);
	return is_so;
}

/* Returns whether the store has no recording, and no other process has it open: SQLite lets a
 * database leave WAL mode only if no other connection has it open. */
static bool is_unused_store(sqlite3 *db)
{
	sqlite3_busy_timeout(db, 0);
	return query_answers(db, "SELECT count(*) FROM recordings", "0") &&
	       query_answers(db, "PRAGMA journal_mode=DELETE", "delete");
}

/* Removes a store's files. */
static void remove_files(const char *path)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	char name[PATH_MAX + 4];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		unlink(name);
	}
}

void store_writer_free(struct store_writer *w)
{
	bool is_unused = w && w->made && is_unused_store(w->db);

	if (!w)
		return;
	writer_forget(w);
	if (w->recording && !is_unused)
		writer_close(w->db);
	else
		sqlite3_close(w->db);
	if (is_unused)
		remove_files(w->made);
	free(w->made);
	free(w->error);
	free(w);
}

int64_t store_writer_recording(const struct store_writer *writer)
{
	return writer->recording;
}

const char *store_writer_error(const struct store_writer *w)
{
	return w->error ? w->error : "";
}

/* --- rows ----------------------------------------------------------------------------------- */

/* Copies a string that may be NULL, cut to STORE_MAX_STRING. */
static int writer_copy(const char *s, const char **ret_copy)
{
	*ret_copy = s ? strndup(s, STORE_MAX_STRING) : NULL;
	return s && !*ret_copy ? -ENOMEM : 0;
}

int store_writer_object(struct store_writer *w, const struct store_object *object)
{
	struct store_object copy = *object;
	uint8_t *build_id;

	if (object->number != w->n_objects || object->number >= STORE_MAX_ROWS ||
	    object->build_id_len > STORE_MAX_BUILD_ID)
		return -EINVAL;
	if (VEC_RESERVE(&w->objects, 1) < 0)
		return -ENOMEM;
	build_id = malloc(object->build_id_len + 1);
	copy.path = copy.problem = NULL;
	if (!build_id || writer_copy(object->path ? object->path : "", &copy.path) < 0 ||
	    writer_copy(object->problem, &copy.problem) < 0) {
		free(build_id);
		free((char *)copy.path);
		return -ENOMEM;
	}
	if (object->build_id_len)
		memcpy(build_id, object->build_id, object->build_id_len);
	copy.build_id = build_id;
	w->objects.items[w->objects.count++] = copy;
	w->n_objects++;
	return 0;
}

int store_writer_process(struct store_writer *w, const struct store_process *process)
{
	struct store_process copy = *process;

	if (process->number != w->n_processes || process->number >= STORE_MAX_ROWS)
		return -EINVAL;
	if (VEC_RESERVE(&w->processes, 1) < 0)
		return -ENOMEM;
	copy.comm = NULL;
	if (writer_copy(process->comm ? process->comm : "", &copy.comm) < 0 ||
	    writer_copy(process->exe, &copy.exe) < 0) {
		free((char *)copy.comm);
		return -ENOMEM;
	}
	w->processes.items[w->processes.count++] = copy;
	w->n_processes++;
	return 0;
}

int store_writer_thread(struct store_writer *w, const struct store_thread *thread)
{
	struct store_thread copy = *thread;

	if (thread->number != w->n_threads || thread->number >= STORE_MAX_ROWS ||
	    thread->process >= w->n_processes)
		return -EINVAL;
	if (VEC_RESERVE(&w->threads, 1) < 0)
		return -ENOMEM;
	if (writer_copy(thread->comm ? thread->comm : "", &copy.comm) < 0)
		return -ENOMEM;
	w->threads.items[w->threads.count++] = copy;
	w->n_threads++;
	return 0;
}

int store_writer_counter(struct store_writer *w, const char *name, uint64_t value)
{
	struct writer_counter *c;

	for (size_t i = 0; i < w->counters.count; i++) {
		c = &w->counters.items[i];
		if (strcmp(c->name, name) == 0) {
			c->is_dirty = c->is_dirty || c->value != value;
			c->value = value;
			return 0;
		}
	}
	if (w->counters.count >= STORE_MAX_COUNTERS || strlen(name) > STORE_MAX_STRING)
		return -EINVAL;
	if (VEC_RESERVE(&w->counters, 1) < 0)
		return -ENOMEM;
	c = &w->counters.items[w->counters.count];
	*c = (struct writer_counter){.name = strdup(name), .value = value, .is_dirty = true};
	if (!c->name)
		return -ENOMEM;
	w->counters.count++;
	return 0;
}

/* --- tables --------------------------------------------------------------------------------- */

/* Closes a table's chunk if it has no room for one more entry, which adds at most `bytes` to a
 * column. */
static int writer_table_room(struct store_writer *w, enum table_kind kind, size_t bytes)
{
	struct writer_table *t = &w->tables[kind];
	bool is_full = t->count >= TABLE_CODEC_MAX;

	for (size_t i = 0; bytes > WRITER_ENTRY_BYTES && i < table_columns(kind); i++)
		is_full = is_full || t->columns[i].len + bytes > WRITER_COLUMN_BYTES;
	return is_full ? store_commit_seal(w, kind) : 0;
}

static void writer_table_added(struct store_writer *w, enum table_kind kind)
{
	struct writer_table *t = &w->tables[kind];

	t->count++;
	t->total++;
	t->is_dirty = true;
}

int store_writer_location(struct store_writer *w, const struct store_location *location)
{
	struct writer_table *t = &w->tables[TABLE_LOCATIONS];
	int err;

	if (location->number != t->total || location->object >= w->n_objects ||
	    t->total >= STORE_MAX_LOCATIONS || location->provenance >= PROVENANCE_COUNT)
		return -EINVAL;
	err = writer_table_room(w, TABLE_LOCATIONS, WRITER_ENTRY_BYTES);
	if (err == 0)
		err = writer_table_room(w, TABLE_PROVENANCES, WRITER_ENTRY_BYTES);
	if (err == 0)
		err = location_put(&w->location_coder, t->columns, location);
	if (err < 0)
		return err;
	provenance_put(w->tables[TABLE_PROVENANCES].columns, location->provenance);
	writer_table_added(w, TABLE_LOCATIONS);
	writer_table_added(w, TABLE_PROVENANCES);
	return 0;
}

int store_writer_node(struct store_writer *w, const struct store_node *node)
{
	struct writer_table *t = &w->tables[TABLE_NODES];
	int err;

	if (node->parent > t->total || node->location >= w->tables[TABLE_LOCATIONS].total ||
	    t->total >= STORE_MAX_NODES)
		return -EINVAL;
	err = writer_table_room(w, TABLE_NODES, WRITER_ENTRY_BYTES);
	if (err == 0)
		err = node_put(&w->node_coder, t->columns, node);
	if (err == 0)
		writer_table_added(w, TABLE_NODES);
	return err;
}

/* Gives the number of a string in the store, and adds it if it is new; 0 for NULL. */
static int writer_string(struct store_writer *w, const char *s, uint32_t *ret_number)
{
	struct writer_table *t = &w->tables[TABLE_STRINGS];
	size_t len = s ? strnlen(s, STORE_MAX_STRING) : 0;
	bool is_new = false;
	int err;

	*ret_number = 0;
	if (!s)
		return 0;
	if (t->total >= STORE_MAX_STRINGS)
		return -EINVAL;
	err = writer_table_room(w, TABLE_STRINGS, len + 16);
	if (err == 0)
		err = store_intern_string(&w->names, s, len, ret_number, &is_new);
	if (err < 0 || !is_new)
		return err;
	string_put(t->columns, s, len);
	writer_table_added(w, TABLE_STRINGS);
	return 0;
}

/* Adds a row that gives a thread a string, as the tables of cgroups and of labels have them. */
static int writer_of_thread(struct store_writer *w, enum table_kind kind,
			    struct cgroup_coder *coder, uint32_t thread, const char *text)
{
	struct table_cgroup row = {.thread = thread};
	int err;

	if (thread >= w->n_threads || !text)
		return -EINVAL;
	err = writer_string(w, text, &row.path);
	if (err == 0)
		err = writer_table_room(w, kind, WRITER_ENTRY_BYTES);
	if (err < 0)
		return err;
	cgroup_put(coder, w->tables[kind].columns, &row);
	writer_table_added(w, kind);
	return 0;
}

int store_writer_cgroup(struct store_writer *w, uint32_t thread, const char *path)
{
	return writer_of_thread(w, TABLE_CGROUPS, &w->cgroup_coder, thread, path);
}

int store_writer_labels(struct store_writer *w, uint32_t thread, const char *label_set)
{
	return writer_of_thread(w, TABLE_LABELS, &w->label_coder, thread, label_set);
}

/* Gives the number of a line's function, from 0, and adds it if it is new. */
static int writer_function(struct store_writer *w, const struct store_line *line,
			   uint32_t *ret_number)
{
	struct table_function f = {.start = line->function_start};
	bool is_new = false;
	int err = writer_string(w, line->function, &f.name);

	if (err == 0)
		err = writer_string(w, line->file, &f.file);
	if (err == 0)
		err = writer_table_room(w, TABLE_FUNCTIONS, WRITER_ENTRY_BYTES);
	if (err == 0)
		err = store_intern_function(&w->names, &f, ret_number, &is_new);
	if (err < 0)
		return err;
	--*ret_number;
	if (is_new) {
		function_put(&w->function_coder, w->tables[TABLE_FUNCTIONS].columns, &f);
		writer_table_added(w, TABLE_FUNCTIONS);
	}
	return 0;
}

int store_writer_line(struct store_writer *w, const struct store_line *line)
{
	struct writer_table *t = &w->tables[TABLE_LINES];
	struct table_line l = {.location = line->location,
			       .depth = line->depth,
			       .line = line->line,
			       .is_inlined = line->is_inlined};
	int err;

	if (line->location >= w->tables[TABLE_LOCATIONS].total || line->depth >= STORE_MAX_DEPTH ||
	    t->total >= STORE_MAX_LINES)
		return -EINVAL;
	err = writer_function(w, line, &l.function);
	if (err == 0)
		err = writer_table_room(w, TABLE_LINES, WRITER_ENTRY_BYTES);
	if (err < 0)
		return err;
	line_put(&w->line_coder, t->columns, &l);
	writer_table_added(w, TABLE_LINES);
	return 0;
}

int store_writer_size(struct store_writer *w, uint32_t node, uint32_t size)
{
	struct writer_table *t = &w->tables[TABLE_SIZES];
	const struct store_node *nodes = w->node_coder.nodes.items;
	int err;

	if (node != t->total + 1 || node > w->tables[TABLE_NODES].total)
		return -EINVAL;
	if (!w->size_coder)
		w->size_coder = calloc(1, sizeof(*w->size_coder));
	if (!w->size_coder)
		return -ENOMEM;
	err = writer_table_room(w, TABLE_SIZES, WRITER_ENTRY_BYTES);
	if (err < 0)
		return err;
	size_put(w->size_coder, t->columns, &nodes[nodes[node].parent], &nodes[node], size);
	writer_table_added(w, TABLE_SIZES);
	return 0;
}

static bool writer_origin_is_good(const struct origin *origin)
{
	for (uint32_t i = 0; i < origin->n_runs; i++) {
		const struct origin_run *run = &origin->runs[i];

		if (!run->frames || run->source >= FRAME_SOURCE_COUNT || run->confidence > 100)
			return false;
	}
	return (origin->n_runs > 0 || origin->height) && origin->n_runs <= ORIGIN_MAX_RUNS;
}

int store_writer_origin(struct store_writer *w, uint32_t number, const struct origin *origin)
{
	struct writer_table *t = &w->tables[TABLE_ORIGINS];
	int err;

	if (number != t->total + 1 || number >= STORE_MAX_ORIGINS ||
	    w->n_runs + origin->n_runs > STORE_MAX_RUNS || !writer_origin_is_good(origin))
		return -EINVAL;
	err = writer_table_room(w, TABLE_ORIGINS, (size_t)origin->n_runs * 5 + 16);
	if (err < 0)
		return err;
	origin_put(t->columns, origin);
	w->n_runs += origin->n_runs;
	writer_table_added(w, TABLE_ORIGINS);
	return 0;
}

int store_writer_record(struct store_writer *w, enum metric_series series,
			const struct store_sample *sample)
{
	struct writer_series *s = &w->series[series];

	if (sample->thread >= w->n_threads || sample->node > w->tables[TABLE_NODES].total ||
	    sample->origin > w->tables[TABLE_ORIGINS].total)
		return -EINVAL;
	if (VEC_RESERVE(&s->records, 1) < 0)
		return -ENOMEM;
	s->records.items[s->records.count++] = *sample;
	return 0;
}

int store_writer_sample(struct store_writer *w, const struct store_sample *sample)
{
	return store_writer_record(w, SERIES_CPU, sample);
}
