/* SPDX-License-Identifier: MIT */
/*
 * From memory to the file: one transaction per commit.
 *
 *   prepare   samples are sorted, cut into chunks and packed; so are the tables' last chunks
 *   write     BEGIN IMMEDIATE; new rows, full chunks, last chunks, the recording's row; COMMIT
 *   forget    the written data is freed, except for the last chunk of each kind
 *
 * Nothing is forgotten before SQLite confirms that the transaction is in the file, so a commit that
 * failed can be repeated. Full chunks are packed with more effort, once; last chunks cheaply,
 * since they are packed again at the next commit, unless they are large enough to be closed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/sample_codec.h"
#include "store/writer_state.h"

/* samples of a full chunk */
#define COMMIT_SAMPLES 16384u
/* A last chunk with so many samples (or entries, in a table) is closed as if it were full, so that
 * at a high rate each chunk is packed once, and not at several commits. */
#define COMMIT_ENOUGH 8192u
/* A commit that has more full chunks of samples than this packs them with less effort. */
#define COMMIT_MANY 16u

int store_commit_failed(struct store_writer *w, int rc)
{
	int err = store_db_errno(w->db, rc);

	free(w->error);
	w->error = strdup(sqlite3_errmsg(w->db));
	return err;
}

/* --- statements ----------------------------------------------------------------------------- */

static int commit_prepare(struct store_writer *w, const char *sql, sqlite3_stmt **ret_stmt)
{
	int rc = sqlite3_prepare_v2(w->db, sql, -1, ret_stmt, NULL);

	return rc == SQLITE_OK ? 0 : store_commit_failed(w, rc);
}

/* Gives the compiled form of a statement of enum writer_statement; compiles it at the first call.
 * Returns 0 or -errno. */
static int commit_statement(struct store_writer *w, enum writer_statement which,
			    sqlite3_stmt **ret_stmt)
{
	static const char *const sql[WRITER_STATEMENTS] = {
		[WRITER_BEGIN] = "BEGIN IMMEDIATE",
		[WRITER_COMMIT] = "COMMIT",
		[WRITER_RECORDING] =
			"UPDATE recordings SET end_ns=?, samples=?, lost=?, kernel_ns=?,"
			" kernel_runs=?, finished=?, note=COALESCE(?,note) WHERE id=?",
		[WRITER_COUNTER] =
			"INSERT INTO counters VALUES(?,?,?)"
			" ON CONFLICT(recording, name) DO UPDATE SET value=excluded.value",
		[WRITER_CHUNK] =
			"INSERT INTO chunks(recording, kind, seq, count, first_ns, data)"
			" VALUES(?,?,?,?,?,?) ON CONFLICT(recording, kind, seq) DO UPDATE"
			" SET count=excluded.count, first_ns=excluded.first_ns, data=excluded.data",
	};
	sqlite3_stmt **kept = &w->statements.all[which];
	int rc = *kept ? SQLITE_OK
		       : sqlite3_prepare_v3(w->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, kept,
					    NULL);

	*ret_stmt = *kept;
	return rc == SQLITE_OK ? 0 : store_commit_failed(w, rc);
}

void store_commit_fini(struct store_writer *w)
{
	for (int i = 0; i < WRITER_STATEMENTS; i++)
		sqlite3_finalize(w->statements.all[i]);
	w->statements = (struct writer_statements){0};
}

/* Runs a bound statement once, and resets it. */
static int commit_step(struct store_writer *w, sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);
	int err = rc == SQLITE_DONE ? 0 : store_commit_failed(w, rc);

	sqlite3_reset(stmt);
	return err;
}

/* Runs a statement of enum writer_statement that has no parameters. */
static int commit_run(struct store_writer *w, enum writer_statement which)
{
	sqlite3_stmt *stmt;
	int err = commit_statement(w, which, &stmt);

	return err < 0 ? err : commit_step(w, stmt);
}

static int commit_exec(struct store_writer *w, const char *sql)
{
	int rc = sqlite3_exec(w->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : store_commit_failed(w, rc);
}

static void commit_roll_back(struct store_writer *w)
{
	if (!sqlite3_get_autocommit(w->db))
		sqlite3_exec(w->db, "ROLLBACK", NULL, NULL, NULL);
}

static void commit_bind_u64(sqlite3_stmt *stmt, int at, uint64_t value)
{
	sqlite3_bind_int64(stmt, at, (int64_t)value);
}

static void commit_bind_text(sqlite3_stmt *stmt, int at, const char *s)
{
	sqlite3_bind_text(stmt, at, s, s ? (int)strnlen(s, STORE_MAX_STRING) : 0, SQLITE_STATIC);
}

/* --- rows ----------------------------------------------------------------------------------- */

static int commit_objects(struct store_writer *w)
{
	sqlite3_stmt *stmt;
	int err;

	if (!w->objects.count)
		return 0;
	err = commit_prepare(w, "INSERT INTO objects VALUES(?,?,?,?,?,?,?,?)", &stmt);
	for (size_t i = 0; err == 0 && i < w->objects.count; i++) {
		const struct store_object *o = &w->objects.items[i];

		sqlite3_bind_int64(stmt, 1, w->recording);
		commit_bind_u64(stmt, 2, o->number);
		commit_bind_u64(stmt, 3, o->kind);
		commit_bind_u64(stmt, 4, o->file_id);
		commit_bind_text(stmt, 5, o->path);
		sqlite3_bind_blob(stmt, 6, o->build_id, (int)o->build_id_len, SQLITE_STATIC);
		commit_bind_text(stmt, 7, o->problem);
		commit_bind_u64(stmt, 8, o->layout);
		err = commit_step(w, stmt);
	}
	sqlite3_finalize(stmt);
	return err;
}

static int commit_processes(struct store_writer *w)
{
	sqlite3_stmt *stmt;
	int err;

	if (!w->processes.count)
		return 0;
	err = commit_prepare(w, "INSERT INTO processes VALUES(?,?,?,?,?,?)", &stmt);
	for (size_t i = 0; err == 0 && i < w->processes.count; i++) {
		const struct store_process *p = &w->processes.items[i];

		sqlite3_bind_int64(stmt, 1, w->recording);
		commit_bind_u64(stmt, 2, p->number);
		sqlite3_bind_int(stmt, 3, p->pid);
		sqlite3_bind_int(stmt, 4, p->parent);
		commit_bind_text(stmt, 5, p->comm);
		commit_bind_text(stmt, 6, p->exe);
		err = commit_step(w, stmt);
	}
	sqlite3_finalize(stmt);
	return err;
}

static int commit_threads(struct store_writer *w)
{
	sqlite3_stmt *stmt;
	int err;

	if (!w->threads.count)
		return 0;
	err = commit_prepare(w, "INSERT INTO threads VALUES(?,?,?,?,?)", &stmt);
	for (size_t i = 0; err == 0 && i < w->threads.count; i++) {
		const struct store_thread *t = &w->threads.items[i];

		sqlite3_bind_int64(stmt, 1, w->recording);
		commit_bind_u64(stmt, 2, t->number);
		commit_bind_u64(stmt, 3, t->process);
		sqlite3_bind_int(stmt, 4, t->tid);
		commit_bind_text(stmt, 5, t->comm);
		err = commit_step(w, stmt);
	}
	sqlite3_finalize(stmt);
	return err;
}

static int commit_counters(struct store_writer *w)
{
	sqlite3_stmt *stmt;
	int err = commit_statement(w, WRITER_COUNTER, &stmt);

	for (size_t i = 0; err == 0 && i < w->counters.count; i++) {
		const struct writer_counter *c = &w->counters.items[i];

		if (!c->is_dirty)
			continue;
		sqlite3_bind_int64(stmt, 1, w->recording);
		commit_bind_text(stmt, 2, c->name);
		commit_bind_u64(stmt, 3, c->value);
		err = commit_step(w, stmt);
	}
	return err;
}

void store_commit_forget_rows(struct store_writer *w)
{
	for (size_t i = 0; i < w->objects.count; i++) {
		free((char *)w->objects.items[i].path);
		free((char *)w->objects.items[i].problem);
		free((uint8_t *)w->objects.items[i].build_id);
	}
	for (size_t i = 0; i < w->processes.count; i++) {
		free((char *)w->processes.items[i].comm);
		free((char *)w->processes.items[i].exe);
	}
	for (size_t i = 0; i < w->threads.count; i++)
		free((char *)w->threads.items[i].comm);
	w->objects.count = w->processes.count = w->threads.count = 0;
}

/* --- the recording -------------------------------------------------------------------------- */

static int commit_insert_recording(struct store_writer *w, const struct store_recording *info)
{
	const char *texts[] = {info->host,   info->kernel, info->arch, info->command,
			       info->target, info->event,  info->note};
	sqlite3_stmt *stmt;
	int err =
		commit_prepare(w,
			       "INSERT INTO recordings(start_unix_ns, start_ns, end_ns, host,"
			       " kernel, arch, command, target, event, note, frequency_hz, period,"
			       " cpus, finished, samples, lost, kernel_ns, kernel_runs)"
			       " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,0,0,0,0,0)",
			       &stmt);

	if (err < 0)
		return err;
	commit_bind_u64(stmt, 1, info->start_unix_ns);
	commit_bind_u64(stmt, 2, info->start_ns);
	commit_bind_u64(stmt, 3, info->end_ns < info->start_ns ? info->start_ns : info->end_ns);
	for (int i = 0; i < 7; i++)
		commit_bind_text(stmt, 4 + i, texts[i] ? texts[i] : "");
	commit_bind_u64(stmt, 11, info->frequency_hz);
	commit_bind_u64(stmt, 12, info->period);
	commit_bind_u64(stmt, 13, info->cpus);
	err = commit_step(w, stmt);
	sqlite3_finalize(stmt);
	return err;
}

/* Writes the counter that marks a recording as a window of a run. */
static int commit_insert_run(struct store_writer *w, int64_t recording, int64_t run)
{
	sqlite3_stmt *stmt;
	int err = commit_prepare(w, "INSERT INTO counters VALUES(?,'" STORE_RUN_COUNTER "',?)",
				 &stmt);

	if (err < 0)
		return err;
	sqlite3_bind_int64(stmt, 1, recording);
	sqlite3_bind_int64(stmt, 2, run);
	err = commit_step(w, stmt);
	sqlite3_finalize(stmt);
	return err;
}

int store_commit_begin(struct store_writer *w, const struct store_recording *info)
{
	int64_t recording = 0, run = w->run;
	int err = commit_exec(w, "BEGIN IMMEDIATE");

	if (err < 0)
		return err;
	err = commit_insert_recording(w, info);
	if (err == 0) {
		recording = sqlite3_last_insert_rowid(w->db);
		run = !info->run ? 0 : run ? run : recording;
		err = run ? commit_insert_run(w, recording, run) : 0;
	}
	if (err == 0)
		err = commit_exec(w, "COMMIT");
	if (err < 0) {
		commit_roll_back(w);
		return err;
	}
	w->recording = recording;
	w->run = run;
	return 0;
}

static int commit_recording(struct store_writer *w, const struct store_recording *info)
{
	sqlite3_stmt *stmt;
	int err = commit_statement(w, WRITER_RECORDING, &stmt);

	if (err < 0)
		return err;
	commit_bind_u64(stmt, 1, info->end_ns);
	commit_bind_u64(stmt, 2, info->samples);
	commit_bind_u64(stmt, 3, info->lost);
	commit_bind_u64(stmt, 4, info->kernel_ns);
	commit_bind_u64(stmt, 5, info->kernel_runs);
	sqlite3_bind_int(stmt, 6, info->finished);
	commit_bind_text(stmt, 7, info->note);
	sqlite3_bind_int64(stmt, 8, w->recording);
	err = commit_step(w, stmt);
	if (err == 0 && sqlite3_changes(w->db) != 1)
		err = -ESTALE; /* the recording was deleted by another process */
	return err;
}

/* --- chunks --------------------------------------------------------------------------------- */

static int commit_chunk(struct store_writer *w, sqlite3_stmt *stmt, const struct writer_chunk *c,
			uint64_t first_ns)
{
	sqlite3_bind_int64(stmt, 1, w->recording);
	commit_bind_u64(stmt, 2, c->kind);
	commit_bind_u64(stmt, 3, c->seq);
	commit_bind_u64(stmt, 4, c->count);
	commit_bind_u64(stmt, 5, first_ns);
	sqlite3_bind_blob(stmt, 6, c->blob.data, (int)c->blob.len, SQLITE_STATIC);
	return commit_step(w, stmt);
}

static int commit_pack(const struct writer_table *t, enum table_kind kind, int level,
		       struct writer_chunk *ret_chunk)
{
	struct writer_chunk c = {.kind = kind, .seq = t->seq, .count = t->count};
	int err = chunk_pack(t->columns, table_columns(kind), level, &c.blob);

	if (err < 0)
		buf_free(&c.blob);
	else
		*ret_chunk = c;
	return err;
}

int store_commit_seal(struct store_writer *w, enum table_kind kind)
{
	struct writer_table *t = &w->tables[kind];

	if (VEC_RESERVE(&w->full, 1) < 0 ||
	    commit_pack(t, kind, CHUNK_LEVEL_FULL, &w->full.items[w->full.count]) < 0)
		return -ENOMEM;
	w->full.count++;
	for (size_t i = 0; i < table_columns(kind); i++)
		buf_clear(&t->columns[i]);
	t->seq++;
	t->count = 0;
	t->is_dirty = false;
	return 0;
}

static int commit_tables(struct store_writer *w, sqlite3_stmt *stmt, int level)
{
	int err = 0;

	for (unsigned kind = 0; err == 0 && kind < TABLE_KINDS; kind++) {
		if (w->tables[kind].count >= COMMIT_ENOUGH)
			err = store_commit_seal(w, kind);
	}
	for (size_t i = 0; err == 0 && i < w->full.count; i++)
		err = commit_chunk(w, stmt, &w->full.items[i], 0);
	for (unsigned kind = 0; err == 0 && kind < TABLE_KINDS; kind++) {
		struct writer_chunk c;

		if (!w->tables[kind].count ||
		    (!w->tables[kind].is_dirty && level == CHUNK_LEVEL_TAIL))
			continue;
		err = commit_pack(&w->tables[kind], kind, level, &c);
		if (err < 0)
			return err;
		err = commit_chunk(w, stmt, &c, 0);
		buf_free(&c.blob);
	}
	return err;
}

/* Returns how many of the series' records are in chunks that this commit closes. */
static size_t commit_full_records(const struct writer_series *series)
{
	size_t count = series->records.count, remainder = count % COMMIT_SAMPLES;

	return remainder < COMMIT_ENOUGH ? count - remainder : count;
}

static int commit_series(struct store_writer *w, uint32_t number, sqlite3_stmt *stmt,
			 int tail_level)
{
	const struct writer_series *series = &w->series[number];
	const struct store_sample *s = series->records.items;
	size_t count = series->records.count, full = commit_full_records(series);
	int full_level = count / COMMIT_SAMPLES > COMMIT_MANY ? CHUNK_LEVEL_TAIL : CHUNK_LEVEL_FULL;
	int err = 0;

	for (size_t at = 0; err == 0 && at < count; at += COMMIT_SAMPLES) {
		size_t n = count - at < COMMIT_SAMPLES ? count - at : COMMIT_SAMPLES;
		struct writer_chunk c = {.kind = table_series_kind(number),
					 .seq = series->seq + (uint32_t)(at / COMMIT_SAMPLES),
					 .count = (uint32_t)n};

		err = sample_codec_encode(s + at, n, at < full ? full_level : tail_level, &c.blob);
		if (err == 0)
			err = commit_chunk(w, stmt, &c, s[at].time_ns);
		buf_free(&c.blob);
	}
	return err;
}

/* --- the transaction ------------------------------------------------------------------------ */

static int commit_write(struct store_writer *w, const struct store_recording *info)
{
	int tail_level = info->finished ? CHUNK_LEVEL_FULL : CHUNK_LEVEL_TAIL;
	sqlite3_stmt *stmt = NULL;
	int err = commit_recording(w, info);

	if (err == 0)
		err = commit_objects(w);
	if (err == 0)
		err = commit_processes(w);
	if (err == 0)
		err = commit_threads(w);
	if (err == 0)
		err = commit_counters(w);
	if (err == 0)
		err = commit_statement(w, WRITER_CHUNK, &stmt);
	if (err == 0)
		err = commit_tables(w, stmt, tail_level);
	for (uint32_t i = 0; err == 0 && i < SERIES_COUNT; i++) {
		if (w->series[i].records.count > w->series[i].written || info->finished)
			err = commit_series(w, i, stmt, tail_level);
	}
	return err;
}

static void commit_forget_full(struct writer_series *s)
{
	size_t full = commit_full_records(s);

	s->records.count -= full;
	if (full && s->records.count)
		memmove(s->records.items, s->records.items + full,
			s->records.count * sizeof(*s->records.items));
	s->seq += (uint32_t)((full + COMMIT_SAMPLES - 1) / COMMIT_SAMPLES);
	s->written = s->records.count;
}

/* After a successful commit: frees all but what the next commit needs. */
static void commit_forget(struct store_writer *w)
{
	store_commit_forget_rows(w);
	for (size_t i = 0; i < w->counters.count; i++)
		w->counters.items[i].is_dirty = false;
	for (size_t i = 0; i < w->full.count; i++)
		buf_free(&w->full.items[i].blob);
	w->full.count = 0;
	for (unsigned kind = 0; kind < TABLE_KINDS; kind++)
		w->tables[kind].is_dirty = false;
	for (unsigned i = 0; i < SERIES_COUNT; i++)
		commit_forget_full(&w->series[i]);
}

int store_writer_commit(struct store_writer *w, const struct store_recording *info)
{
	int err = 0;

	/* Where sorting moves a new record into a chunk that the file has already, that chunk is
	 * written again. */
	for (unsigned i = 0; err == 0 && i < SERIES_COUNT; i++)
		err = sample_codec_sort(w->series[i].records.items, w->series[i].records.count);
	if (err < 0)
		return err;
	err = commit_run(w, WRITER_BEGIN);
	if (err < 0)
		return err;
	err = commit_write(w, info);
	if (err == 0)
		err = commit_run(w, WRITER_COMMIT);
	if (err < 0) {
		commit_roll_back(w);
		return err;
	}
	commit_forget(w);
	if (info->finished && !w->run)
		store_retain_shrink(w, 0);
	return 0;
}
