/* SPDX-License-Identifier: MIT */
/*
 * Opening a recording, and its samples in time order.
 *
 * The whole life of a reader is one SQLite read transaction: what is committed meanwhile is not
 * seen, and what is deleted meanwhile stays readable.
 *
 * A WAL store needs its -shm file even to be read. Where that cannot be opened or made (a
 * read-only folder or file system) and the -wal is empty or missing, the main file is all there
 * is, and it is opened as immutable.
 *
 * Samples: chunks are sorted inside, and nearly always follow each other in time; but a sample
 * that arrived late stands in a later chunk. So chunks are read in order of their first sample,
 * and what is later than the next chunk's first sample waits to be merged with it.
 */
#include "store/store_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "stackd_abi.h"
#include "store/reader_state.h"
#include "store/sample_codec.h"

/* --- opening -------------------------------------------------------------------------------- */

/* The size of a file beside the store; 0 if there is none. */
static uint64_t reader_size(const char *path, const char *suffix)
{
	struct stat st;
	char *name;
	int r;

	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return 0;
	r = stat(name, &st);
	free(name);
	return r < 0 ? 0 : (uint64_t)st.st_size;
}

/* Begins the transaction: the snapshot is that of the first read. SQLite's result code. */
static int reader_begin(sqlite3 *db)
{
	int rc = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);

	return rc == SQLITE_OK ? sqlite3_exec(db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL)
			       : rc;
}

static int reader_check_kind(sqlite3 *db, uint32_t *ret_version)
{
	enum store_db_kind kind;
	int r = store_db_kind(db, &kind, ret_version);

	if (r < 0)
		return r;
	if (kind == STORE_DB_NEWER)
		return -ENOTSUP;
	return kind == STORE_DB_STORE ? 0 : -EINVAL;
}

/* Whether a transaction failed for lack of a -shm that there is no need of. */
static bool reader_can_be_immutable(int rc, const char *path)
{
	return ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY) &&
	       reader_size(path, "-wal") == 0;
}

static int reader_open_db(const char *path, sqlite3 **db, uint32_t *ret_version)
{
	int r = store_db_open(path, SQLITE_OPEN_READONLY, db), rc;

	if (r == 0)
		r = reader_check_kind(*db, ret_version);
	if (r < 0)
		return r;
	rc = reader_begin(*db);
	if (reader_can_be_immutable(rc, path)) {
		sqlite3_close(*db);
		*db = NULL;
		r = store_db_open_immutable(path, db);
		if (r < 0)
			return r;
		rc = reader_begin(*db);
	}
	r = store_db_errno(*db, rc);
	return r == 0 ? store_db_check_schema(*db) : r;
}

/* The recording's row; 0: the latest. */
static int reader_find(struct store_reader *r, int64_t recording)
{
	const char *sql = recording ? STORE_LOAD_RECORDING "WHERE id=?"
				    : STORE_LOAD_RECORDING "ORDER BY id DESC LIMIT 1";
	sqlite3_stmt *stmt;
	int e, rc;

	r->damaged = "table recordings";
	e = store_load_prepare(r->db, sql, &recording, recording ? 1 : 0, &stmt);
	if (e < 0)
		return e;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		e = store_load_recording(stmt, &r->arena, &r->tables.recording);
	else
		e = rc == SQLITE_DONE ? -ENODATA : store_db_errno(r->db, rc);
	sqlite3_finalize(stmt);
	return e;
}

/* Says what is damaged: the table, and SQLite's view of it if it has one. */
static char *reader_sentence(const struct store_reader *r, const char *path, int e,
			     uint32_t version)
{
	int rc = r && r->db ? sqlite3_errcode(r->db) & 0xff : SQLITE_OK;
	bool is_sqlite = rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE;
	char detail[256];

	snprintf(detail, sizeof(detail), "%s%s%s", r && r->damaged ? r->damaged : "its tables",
		 is_sqlite ? ": " : "", is_sqlite ? sqlite3_errmsg(r->db) : "");
	return store_db_sentence(path, e, version, detail);
}

int store_reader_open(const char *path, int64_t recording, struct store_reader **ret_reader,
		      char **ret_error)
{
	struct store_reader *r = calloc(1, sizeof(*r));
	uint32_t version = 0;
	int e = r ? 0 : -ENOMEM;

	if (e == 0)
		e = reader_open_db(path, &r->db, &version);
	if (e == 0)
		e = reader_find(r, recording);
	if (e == 0)
		e = store_load_tables(r);
	if (e == 0) {
		r->tables.store_bytes = reader_size(path, "") + reader_size(path, "-wal");
		*ret_reader = r;
		return 0;
	}
	if (ret_error)
		*ret_error = reader_sentence(r, path, e, version);
	store_reader_close(r);
	return e;
}

void store_reader_close(struct store_reader *reader)
{
	if (!reader)
		return;
	sqlite3_close(reader->db);
	store_load_free(reader);
	free(reader);
}

const struct store_tables *store_reader_tables(const struct store_reader *reader)
{
	return &reader->tables;
}

/* --- the list of recordings ----------------------------------------------------------------- */

/* Moves a recording's strings from the arena, which dies with the reader, to the heap. */
static int reader_own_strings(struct store_recording *rec)
{
	const char **texts[] = {&rec->host,   &rec->kernel, &rec->arch, &rec->command,
				&rec->target, &rec->event,  &rec->note};
	int e = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		*texts[i] = e == 0 ? strdup(*texts[i]) : NULL;
		if (!*texts[i])
			e = -ENOMEM;
	}
	return e;
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
	int e, rc;

	r->damaged = "table recordings";
	e = store_load_prepare(r->db, STORE_LOAD_RECORDING "ORDER BY id", NULL, 0, &stmt);
	if (e < 0)
		return e;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct store_recording *rec;

		e = VEC_RESERVE(list, 1);
		if (e < 0)
			break;
		rec = &list->items[list->count];
		e = store_load_recording(stmt, &r->arena, rec);
		if (e < 0)
			break;
		list->count++;
		e = reader_own_strings(rec);
		if (e == 0 && list->count > 1 && rec[-1].id >= rec->id)
			e = -EBADMSG;
		if (e < 0)
			break;
	}
	sqlite3_finalize(stmt);
	return e < 0 ? e : store_db_errno(r->db, rc);
}

int store_list_recordings(const char *path, struct store_recording **ret_recordings,
			  size_t *ret_count, char **ret_error)
{
	struct store_reader *r = calloc(1, sizeof(*r));
	reader_list list = {0};
	uint32_t version = 0;
	int e = r ? reader_open_db(path, &r->db, &version) : -ENOMEM;

	if (e == 0)
		e = reader_list_all(r, &list);
	if (e == 0) {
		*ret_recordings = list.items;
		*ret_count = list.count;
	} else {
		store_recordings_free(list.items, list.count);
		if (ret_error)
			*ret_error = reader_sentence(r, path, e, version);
	}
	store_reader_close(r);
	return e;
}

/* --- samples -------------------------------------------------------------------------------- */

/* Samples that may wait for a later chunk at once: 512 MiB of them. */
#define READER_MAX_WAITING (1u << 24)

struct reader_chunk {
	uint64_t first_ns;
	int64_t seq, count;
};

typedef VEC(struct store_sample) reader_waiting;

struct reader_samples {
	struct store_reader *r;
	VEC(struct reader_chunk) chunks;
	reader_waiting waiting;
	size_t done; /* of those waiting */
	struct store_sample decoded[SAMPLE_CODEC_MAX];
	int (*each)(void *arg, const struct store_sample *sample);
	void *arg;
};

static int reader_compare_chunks(const void *a, const void *b)
{
	const struct reader_chunk *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Lists the chunks of samples, in order of their first sample. */
static int reader_list_chunks(struct reader_samples *s)
{
	const int64_t parameters[] = {s->r->tables.recording.id, TABLE_SAMPLES};
	sqlite3_stmt *stmt;
	int e, rc;

	e = store_load_prepare(s->r->db,
			       "SELECT seq, count, first_ns FROM chunks INDEXED BY chunks_by_kind"
			       " WHERE recording=? AND kind=? ORDER BY seq",
			       parameters, 2, &stmt);
	if (e < 0)
		return e;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct reader_chunk c = {.seq = sqlite3_column_int64(stmt, 0),
					 .count = sqlite3_column_int64(stmt, 1),
					 .first_ns = (uint64_t)sqlite3_column_int64(stmt, 2)};

		if (c.seq != (int64_t)s->chunks.count || c.count < 1 || c.count > SAMPLE_CODEC_MAX)
			e = -EBADMSG;
		if (e == 0)
			e = VEC_RESERVE(&s->chunks, 1);
		if (e < 0)
			break;
		s->chunks.items[s->chunks.count++] = c;
	}
	sqlite3_finalize(stmt);
	if (e == 0)
		e = store_db_errno(s->r->db, rc);
	if (e == 0 && s->chunks.count)
		qsort(s->chunks.items, s->chunks.count, sizeof(*s->chunks.items),
		      reader_compare_chunks);
	return e;
}

static int reader_check_samples(const struct reader_samples *s, const struct reader_chunk *c)
{
	const struct store_tables *t = &s->r->tables;

	if (s->decoded[0].time_ns != c->first_ns)
		return -EBADMSG;
	for (int64_t i = 0; i < c->count; i++) {
		const struct store_sample *sample = &s->decoded[i];

		if (sample->thread >= t->n_threads || sample->node >= t->n_nodes ||
		    sample->origin >= t->n_origins || sample->end_reason >= STACKD_END_COUNT)
			return -EBADMSG;
	}
	return 0;
}

static int reader_decode(struct reader_samples *s, sqlite3_stmt *stmt, const struct reader_chunk *c)
{
	int rc, e;

	sqlite3_bind_int64(stmt, 3, c->seq);
	rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW) {
		sqlite3_reset(stmt);
		return rc == SQLITE_DONE ? -EBADMSG : store_db_errno(s->r->db, rc);
	}
	e = sample_codec_decode(sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0),
				(size_t)c->count, s->decoded);
	sqlite3_reset(stmt);
	return e == 0 ? reader_check_samples(s, c) : e;
}

/* Hands out what waits and is not later than `until`. */
static int reader_emit(struct reader_samples *s, uint64_t until)
{
	int e = 0;

	while (e == 0 && s->done < s->waiting.count && s->waiting.items[s->done].time_ns <= until)
		e = s->each(s->arg, &s->waiting.items[s->done++]);
	return e;
}

/* Nothing waits: the decoded chunk takes its place. */
static int reader_replace(struct reader_samples *s, size_t count)
{
	s->waiting.count = s->done = 0;
	if (VEC_RESERVE(&s->waiting, count) < 0)
		return -ENOMEM;
	memcpy(s->waiting.items, s->decoded, count * sizeof(*s->decoded));
	s->waiting.count = count;
	return 0;
}

/* Merges the decoded chunk into what waits. */
static int reader_merge(struct reader_samples *s, size_t count)
{
	size_t left = s->waiting.count - s->done;
	reader_waiting merged = {0};

	if (!left)
		return reader_replace(s, count);
	if (left + count > READER_MAX_WAITING)
		return -EBADMSG;
	if (VEC_RESERVE(&merged, left + count) < 0)
		return -ENOMEM;
	sample_codec_merge(s->waiting.items + s->done, left, s->decoded, count, merged.items);
	merged.count = left + count;
	free(s->waiting.items);
	s->waiting = merged;
	s->done = 0;
	return 0;
}

static int reader_run(struct reader_samples *s)
{
	const int64_t parameters[] = {s->r->tables.recording.id, TABLE_SAMPLES};
	sqlite3_stmt *stmt;
	int e;

	e = store_load_prepare(s->r->db,
			       "SELECT data FROM chunks WHERE recording=? AND kind=? AND seq=?",
			       parameters, 2, &stmt);
	if (e < 0)
		return e;
	for (size_t i = 0; e == 0 && i < s->chunks.count; i++) {
		const struct reader_chunk *c = &s->chunks.items[i];

		e = reader_emit(s, c->first_ns);
		if (e == 0)
			e = reader_decode(s, stmt, c);
		if (e == 0)
			e = reader_merge(s, (size_t)c->count);
	}
	sqlite3_finalize(stmt);
	return e == 0 ? reader_emit(s, UINT64_MAX) : e;
}

int store_reader_samples(struct store_reader *reader,
			 int (*each)(void *arg, const struct store_sample *sample), void *arg)
{
	struct reader_samples *s = calloc(1, sizeof(*s));
	int e;

	if (!s)
		return -ENOMEM;
	s->r = reader;
	s->each = each;
	s->arg = arg;
	e = reader_list_chunks(s);
	if (e == 0)
		e = reader_run(s);
	free(s->chunks.items);
	free(s->waiting.items);
	free(s);
	return e;
}
