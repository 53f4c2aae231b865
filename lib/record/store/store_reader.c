/* SPDX-License-Identifier: MIT */
/*
 * Opens recordings, and lists those that a store has; store_samples.c reads their samples.
 *
 * The whole life of a reader is one SQLite read transaction: data committed meanwhile is not seen,
 * and data deleted meanwhile stays readable.
 *
 * A WAL store needs its -shm file even to be read. Where that cannot be opened or made (a
 * read-only folder or file system) and the -wal is empty or missing, the main file is all there
 * is, and it is opened as immutable.
 */
#include "store/store_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/int_map.h"
#include "base/vec.h"
#include "store/reader_state.h"
#include "store/store_join.h"

/* --- opening -------------------------------------------------------------------------------- */

/* Returns the size of a file beside the store; 0 if there is none. */
static uint64_t reader_size(const char *path, const char *suffix)
{
	struct stat st;
	char *name;
	int err;

	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return 0;
	err = stat(name, &st);
	free(name);
	return err < 0 ? 0 : (uint64_t)st.st_size;
}

/* Begins the transaction and reads something, because SQLite takes the snapshot at the first read.
 * Returns SQLite's result code. */
static int reader_begin(sqlite3 *db)
{
	int rc = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);

	return rc == SQLITE_OK ? sqlite3_exec(db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL)
			       : rc;
}

static int reader_check_kind(sqlite3 *db, uint32_t *ret_version)
{
	enum store_db_kind kind;
	int err = store_db_kind(db, &kind, ret_version);

	if (err < 0)
		return err;
	if (kind == STORE_DB_NEWER)
		return -ENOTSUP;
	return kind == STORE_DB_STORE ? 0 : -EINVAL;
}

static int reader_open_db(struct store_reader *r, const char *path, uint32_t *ret_version)
{
	sqlite3 **db = &r->db;
	int err = store_db_open(path, SQLITE_OPEN_READONLY, db), rc;

	if (err == 0)
		err = reader_check_kind(*db, ret_version);
	if (err < 0)
		return err;
	rc = reader_begin(*db);
	if (store_db_can_be_immutable(path, rc)) {
		sqlite3_close(*db);
		*db = NULL;
		err = store_db_open_immutable(path, db);
		if (err < 0)
			return err;
		rc = reader_begin(*db);
	}
	err = store_db_errno(*db, rc);
	return err == 0 ? store_db_check_schema(*db, &r->has_layouts) : err;
}

/* Loads the row of a recording. 0: the latest recording; but if that is a window that has just
 * begun and has no samples yet, the recording before it. */
static int reader_find(struct store_reader *r, int64_t recording)
{
	const char *sql =
		recording ? STORE_LOAD_RECORDING "WHERE id=?"
			  : STORE_LOAD_RECORDING
			"ORDER BY samples=0 AND finished=0 AND id IN (SELECT recording FROM counters"
			" WHERE name='" STORE_RUN_COUNTER "' AND value<recording), id DESC LIMIT 1";
	sqlite3_stmt *stmt;
	int err, rc;

	r->damaged = "table recordings";
	err = store_load_prepare(r->db, sql, &recording, recording ? 1 : 0, &stmt);
	if (err < 0)
		return err;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		err = store_load_recording(stmt, &r->arena, &r->tables.recording);
	else
		err = rc == SQLITE_DONE ? -ENODATA : store_db_errno(r->db, rc);
	sqlite3_finalize(stmt);
	return err;
}

/* Returns a sentence about an error. It names the damaged table, with SQLite's own message if there
 * is one. */
static char *reader_sentence(const struct store_reader *r, const char *path, int err,
			     uint32_t version)
{
	int rc = r && r->db ? sqlite3_errcode(r->db) & 0xff : SQLITE_OK;
	bool is_sqlite = rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE;
	char detail[256];

	snprintf(detail, sizeof(detail), "%s%s%s", r && r->damaged ? r->damaged : "its tables",
		 is_sqlite ? ": " : "", is_sqlite ? sqlite3_errmsg(r->db) : "");
	return store_db_sentence(path, err, version, detail);
}

/* Opens a recording, and loads what `load` loads of it. */
static int reader_open(const char *path, int64_t recording, int (*load)(struct store_reader *r),
		       struct store_reader **ret_reader, char **ret_error)
{
	struct store_reader *r = calloc(1, sizeof(*r));
	uint32_t version = 0;
	int err = r ? 0 : -ENOMEM;

	if (err == 0)
		err = reader_open_db(r, path, &version);
	if (err == 0)
		err = reader_find(r, recording);
	if (err == 0)
		err = load(r);
	if (err == 0) {
		r->tables.store_bytes = reader_size(path, "") + reader_size(path, "-wal");
		*ret_reader = r;
		return 0;
	}
	if (ret_error)
		*ret_error = reader_sentence(r, path, err, version);
	store_reader_close(r);
	return err;
}

int store_reader_open(const char *path, int64_t recording, struct store_reader **ret_reader,
		      char **ret_error)
{
	return reader_open(path, recording, store_load_tables, ret_reader, ret_error);
}

int store_reader_open_figures(const char *path, int64_t recording, struct store_reader **ret_reader,
			      char **ret_error)
{
	return reader_open(path, recording, store_load_figures, ret_reader, ret_error);
}

void store_reader_close(struct store_reader *reader)
{
	if (!reader)
		return;
	store_db_close_reader(reader->db);
	store_load_free(reader);
	free(reader);
}

const struct store_tables *store_reader_tables(const struct store_reader *reader)
{
	return &reader->tables;
}

/* --- names that are not in the store -------------------------------------------------------- */

static void reader_merge_lines(const struct store_tables *t, const struct store_line *more,
			       size_t n, struct store_line *ret_lines, uint32_t *ret_first)
{
	uint32_t count = 0;
	size_t at = 0;

	for (uint32_t i = 0; i < t->n_locations; i++) {
		ret_first[i] = count;
		for (uint32_t j = t->line_first[i]; j < t->line_first[i + 1]; j++)
			ret_lines[count++] = t->lines[j];
		while (at < n && more[at].location == i)
			ret_lines[count++] = more[at++];
	}
	ret_first[t->n_locations] = count;
}

int store_reader_add_lines(struct store_reader *r, const struct store_line *more, size_t n)
{
	struct store_tables *t = &r->tables;
	struct store_line *lines = vec_alloc(t->n_lines + n + 1, sizeof(*lines));
	uint32_t *first = vec_alloc((size_t)t->n_locations + 1, sizeof(*first));

	if (!lines || !first) {
		free(lines);
		free(first);
		return -ENOMEM;
	}
	reader_merge_lines(t, more, n, lines, first);
	free(r->lines);
	free(r->line_first);
	t->lines = r->lines = lines;
	t->line_first = r->line_first = first;
	t->n_lines = first[t->n_locations];
	return 0;
}

int store_reader_leave_out(struct store_reader *r, const bool *is_out)
{
	struct store_node *nodes = (struct store_node *)r->tables.nodes;
	uint32_t *shown = vec_alloc(r->tables.n_nodes + 1, sizeof(*shown));
	struct int_map paths = {0}; /* (parent, location) -> the first node of that path */
	int err = 0;

	if (!shown)
		return -ENOMEM;
	shown[0] = 0;
	for (uint32_t node = 1; err == 0 && node < r->tables.n_nodes; node++) {
		uint32_t parent = shown[nodes[node].parent];
		uint64_t path = (uint64_t)parent << 32 | nodes[node].location;

		shown[node] = parent;
		if (!is_out[node])
			err = int_map_enter(&paths, path, node, &shown[node]);
		nodes[node].parent = parent;
	}
	int_map_fini(&paths);
	if (err < 0) {
		free(shown);
		return err;
	}
	for (size_t i = 0; i < r->sums.count; i++)
		r->sums.items[i].node = shown[r->sums.items[i].node];
	free(r->shown);
	r->shown = shown;
	return 0;
}

/* --- the list of recordings ----------------------------------------------------------------- */

/* Copies a recording's strings from the arena, which is freed with the reader, to the heap. */
static int reader_own_strings(struct store_recording *rec)
{
	const char **texts[] = {&rec->host,   &rec->kernel, &rec->arch, &rec->command,
				&rec->target, &rec->event,  &rec->note};
	int err = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		*texts[i] = err == 0 ? strdup(*texts[i]) : NULL;
		if (!*texts[i])
			err = -ENOMEM;
	}
	return err;
}

void store_recordings_free(struct store_recording *recordings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct store_recording *rec = &recordings[i];

		free((char *)rec->host);
		free((char *)rec->kernel);
		free((char *)rec->arch);
		free((char *)rec->command);
		free((char *)rec->target);
		free((char *)rec->event);
		free((char *)rec->note);
	}
	free(recordings);
}

typedef VEC(struct store_recording) reader_list;

static int reader_list_all(struct store_reader *r, reader_list *list)
{
	sqlite3_stmt *stmt;
	int err, rc;

	r->damaged = "table recordings";
	err = store_load_prepare(r->db, STORE_LOAD_RECORDING "ORDER BY id", NULL, 0, &stmt);
	if (err < 0)
		return err;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct store_recording *rec;

		err = VEC_RESERVE(list, 1);
		if (err < 0)
			break;
		rec = &list->items[list->count];
		err = store_load_recording(stmt, &r->arena, rec);
		if (err < 0)
			break;
		list->count++;
		err = reader_own_strings(rec);
		if (err == 0 && list->count > 1 && rec[-1].id >= rec->id)
			err = -EBADMSG;
		if (err < 0)
			break;
	}
	sqlite3_finalize(stmt);
	return err < 0 ? err : store_db_errno(r->db, rc);
}

int store_list_recordings(const char *path, struct store_recording **ret_recordings,
			  size_t *ret_count, char **ret_error)
{
	struct store_reader *r = calloc(1, sizeof(*r));
	reader_list list = {0};
	uint32_t version = 0;
	int err = r ? reader_open_db(r, path, &version) : -ENOMEM;

	if (err == 0)
		err = reader_list_all(r, &list);
	if (err == 0) {
		*ret_recordings = list.items;
		*ret_count = list.count;
	} else {
		store_recordings_free(list.items, list.count);
		if (ret_error)
			*ret_error = reader_sentence(r, path, err, version);
	}
	store_reader_close(r);
	return err;
}

/* --- several recordings as one -------------------------------------------------------------- */

/* Loads a recording in the transaction of `r`, and adds it to the join. If `began_before_ns` is not
 * NULL, the recording comes after the range, and is added only if one of its records began before
 * that time. */
static int reader_add(struct store_reader *r, struct store_join *join, int64_t recording,
		      const uint64_t *began_before_ns)
{
	struct store_reader *window = calloc(1, sizeof(*window));
	bool is_wanted = true;
	int err;

	if (!window)
		return -ENOMEM;
	window->db = r->db;
	window->has_layouts = r->has_layouts;
	err = reader_find(window, recording);
	if (err == 0 && began_before_ns)
		err = store_samples_reach(window, *began_before_ns, &is_wanted);
	if (err == 0 && is_wanted)
		err = store_load_tables(window);
	if (err < 0 || !is_wanted) {
		r->damaged = window->damaged;
		store_load_free(window);
		free(window);
		return err;
	}
	return store_join_add(join, window, began_before_ns != NULL);
}

/* Returns the time, by the clock of the last recording, at which the range or that recording ends,
 * whichever comes first. Windows after it have the same clock. */
static uint64_t reader_end(const struct store_reader *r, const struct store_range *range)
{
	const struct store_recording *last =
		&r->parts.items[r->parts.count - 1].window->tables.recording;
	const uint64_t end = store_range_end(last);

	if (!range->to_unix_ns || range->to_unix_ns >= end)
		return last->end_ns;
	return last->start_ns + (range->to_unix_ns - last->start_unix_ns);
}

static int reader_join(struct store_reader *r, const struct store_range *range,
		       const struct store_range_choice *choice)
{
	struct store_join *join;
	uint64_t end_ns = 0;
	int err = store_join_new(r, &join);

	if (err < 0)
		return err;
	for (size_t i = 0; err == 0 && i < choice->n; i++)
		err = reader_add(r, join, choice->ids[i], NULL);
	if (err == 0)
		end_ns = reader_end(r, range);
	for (size_t i = 0; err == 0 && i < choice->n_later; i++)
		err = reader_add(r, join, choice->later[i], &end_ns);
	if (err == 0)
		err = store_join_finish(join, range);
	store_join_free(join);
	return err;
}

/* Chooses the recordings, and joins them. *ret_sentence explains an error of the choice. */
static int reader_load_range(struct store_reader *r, const struct store_range *range,
			     const char *path, char **ret_sentence)
{
	reader_list list = {0};
	struct store_range_choice choice = {0};
	int err = reader_list_all(r, &list);

	if (err == 0) {
		err = store_range_choose(range, list.items, list.count, &choice);
		if (err == -ENODATA || err == -EXDEV)
			*ret_sentence =
				store_range_sentence(range, path, list.items, list.count, err);
	}
	r->tables.left_out = (uint32_t)choice.left_out;
	if (err == 0)
		err = reader_join(r, range, &choice);
	r->tables.is_not_all = choice.has_more_later;
	free(choice.ids);
	store_recordings_free(list.items, list.count);
	return err;
}

int store_reader_open_range(const char *path, const struct store_range *range,
			    struct store_reader **ret_reader, char **ret_error)
{
	struct store_reader *r = calloc(1, sizeof(*r));
	char *sentence = NULL;
	uint32_t version = 0;
	int err = r ? 0 : -ENOMEM;

	if (err == 0)
		err = reader_open_db(r, path, &version);
	if (err == 0)
		err = reader_load_range(r, range, path, &sentence);
	if (err == 0) {
		r->tables.store_bytes = reader_size(path, "") + reader_size(path, "-wal");
		*ret_reader = r;
		return 0;
	}
	if (ret_error)
		*ret_error = sentence ? sentence : reader_sentence(r, path, err, version);
	else
		free(sentence);
	store_reader_close(r);
	return err;
}
