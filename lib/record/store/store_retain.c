/* SPDX-License-Identifier: MIT */
/*
 * Retention: old recordings are deleted, one per transaction, and the pages that this frees are
 * given back to the file system by incremental vacuum, some megabytes per transaction. While a run
 * goes on in windows, as many free pages as the last window took stay in the file for the next one.
 * So the file of a service does not grow and shrink with each window, and exceeds its limit by one
 * window at most.
 *
 * VACUUM was rejected: it writes the whole store once more, and needs that much free space at
 * the very moment when there may be none.
 *
 * A recording that is not finished and was committed within the last minute may belong to another
 * stackd that is still writing: it is never deleted.
 */
#include <errno.h>
#include <time.h>

#include "store/writer_state.h"

#define RETAIN_LIVE_S  60u
#define RETAIN_S_TO_NS UINT64_C(1000000000)
#define RETAIN_VACUUM  2048 /* pages that one transaction gives back */
/* waits so long for readers when it empties the WAL */
#define RETAIN_WAIT_MS 200
/* least limit of the WAL: a small commit writes a dozen pages */
#define RETAIN_WAL_LEAST (128u << 10)

static int retain_pragma(struct store_writer *w, const char *sql, int64_t *ret_value)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(w->db, sql, -1, &stmt, NULL), err = 0;

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret_value = sqlite3_column_int64(stmt, 0);
	else
		err = store_commit_failed(w, rc);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? -EIO : err;
}

/* Runs a pragma that returns a number of pages, and gives the size of these pages in bytes. */
static int retain_pages(struct store_writer *w, const char *sql, uint64_t *ret_bytes)
{
	int64_t pages, size;
	int err = retain_pragma(w, sql, &pages);

	if (err == 0)
		err = retain_pragma(w, "PRAGMA page_size", &size);
	if (err == 0)
		*ret_bytes = (uint64_t)pages * (uint64_t)size;
	return err;
}

int store_retain_content(struct store_writer *w, uint64_t *ret_bytes)
{
	uint64_t all, unused;
	int err = retain_pages(w, "PRAGMA page_count", &all);

	if (err == 0)
		err = retain_pages(w, "PRAGMA freelist_count", &unused);
	if (err == 0)
		*ret_bytes = all - unused;
	return err;
}

/* Runs a pragma that sets a number. Returns 0 or -errno. */
static int retain_set(struct store_writer *w, const char *pragma, uint64_t value)
{
	char *sql = sqlite3_mprintf("PRAGMA %s(%llu)", pragma, (unsigned long long)value);
	int rc = sql ? sqlite3_exec(w->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc == SQLITE_OK ? 0 : store_commit_failed(w, rc);
}

int store_retain_shrink(struct store_writer *w, uint64_t keep_bytes)
{
	int64_t before = INT64_MAX, now, page;
	int err = retain_pragma(w, "PRAGMA page_size", &page);

	while (err == 0) {
		int64_t keep = (int64_t)(keep_bytes / (uint64_t)page);

		err = retain_pragma(w, "PRAGMA freelist_count", &now);
		if (err < 0 || now <= keep || now >= before)
			break;
		before = now;
		err = retain_set(
			w, "incremental_vacuum",
			(uint64_t)(now - keep < RETAIN_VACUUM ? now - keep : RETAIN_VACUUM));
	}
	return err;
}

static int retain_delete(struct store_writer *w, int64_t recording)
{
	static const char *const statements[] = {
		"DELETE FROM chunks WHERE recording=?",	   "DELETE FROM objects WHERE recording=?",
		"DELETE FROM processes WHERE recording=?", "DELETE FROM threads WHERE recording=?",
		"DELETE FROM counters WHERE recording=?",  "DELETE FROM recordings WHERE id=?",
	};
	int rc = sqlite3_exec(w->db, "BEGIN IMMEDIATE", NULL, NULL, NULL), err;

	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(statements) / sizeof(*statements); i++) {
		sqlite3_stmt *stmt = NULL;

		rc = sqlite3_prepare_v2(w->db, statements[i], -1, &stmt, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_bind_int64(stmt, 1, recording);
		if (rc == SQLITE_OK && sqlite3_step(stmt) != SQLITE_DONE)
			rc = sqlite3_extended_errcode(w->db);
		sqlite3_finalize(stmt);
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(w->db, "COMMIT", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		return 0;
	err = store_commit_failed(w, rc);
	if (!sqlite3_get_autocommit(w->db))
		sqlite3_exec(w->db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

int store_writer_discard(struct store_writer *w)
{
	return retain_delete(w, w->recording);
}

/* Moves the WAL's content to the main file, unless a reader needs the WAL for longer than a moment.
 */
static void retain_empty_wal(struct store_writer *w)
{
	sqlite3_busy_timeout(w->db, RETAIN_WAIT_MS);
	sqlite3_wal_checkpoint_v2(w->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(w->db, STORE_BUSY_MS);
}

struct retain_candidate {
	int64_t id;
	uint64_t ended_ns; /* wall clock */
};

static uint64_t retain_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * RETAIN_S_TO_NS + (uint64_t)ts.tv_nsec;
}

/* Gives the recordings that may be deleted, oldest first. */
static int retain_candidates(struct store_writer *w, uint64_t now_ns,
			     struct retain_candidate **ret_items, size_t *ret_count)
{
	VEC(struct retain_candidate) found = {0};
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(w->db,
				    "SELECT id, start_unix_ns + (end_ns - start_ns), finished"
				    " FROM recordings ORDER BY id",
				    -1, &stmt, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct retain_candidate c = {
			.id = sqlite3_column_int64(stmt, 0),
			.ended_ns = (uint64_t)sqlite3_column_int64(stmt, 1),
		};
		bool is_finished = sqlite3_column_int(stmt, 2);

		rc = SQLITE_OK;
		if (c.id == w->recording ||
		    (!is_finished && c.ended_ns + RETAIN_LIVE_S * RETAIN_S_TO_NS > now_ns))
			continue;
		if (VEC_RESERVE(&found, 1) < 0)
			rc = SQLITE_NOMEM;
		else
			found.items[found.count++] = c;
	}
	sqlite3_finalize(stmt);
	if (rc != SQLITE_DONE) {
		free(found.items);
		return rc == SQLITE_NOMEM ? -ENOMEM : store_commit_failed(w, rc);
	}
	*ret_items = found.items;
	*ret_count = found.count;
	return 0;
}

struct retain_limits {
	uint64_t age_s, bytes; /* 0: no limit */
};

static bool retain_is_old(const struct retain_candidate *c, uint64_t now_ns, uint64_t max_age_s)
{
	return max_age_s && c->ended_ns < now_ns &&
	       (now_ns - c->ended_ns) / RETAIN_S_TO_NS >= max_age_s;
}

/* Limits the WAL, which counts as part of the store's size, and gives the limit in *ret_bytes.
 * SQLite checkpoints the WAL when it has a quarter of that size, since the commit that reaches the
 * quarter may be large. */
static int retain_limit_wal(struct store_writer *w, uint64_t max_bytes, uint64_t *ret_bytes)
{
	uint64_t bytes = max_bytes / 8;
	int64_t page;
	int err = retain_pragma(w, "PRAGMA page_size", &page);

	if (bytes < RETAIN_WAL_LEAST)
		bytes = max_bytes / 2 < RETAIN_WAL_LEAST ? max_bytes / 2 : RETAIN_WAL_LEAST;
	bytes = bytes < STORE_WAL_BYTES ? bytes : STORE_WAL_BYTES;
	if (err == 0)
		err = retain_set(w, "journal_size_limit", bytes);
	if (err == 0)
		err = retain_set(w, "wal_autocheckpoint", bytes / 4 / (uint64_t)page + 1);
	*ret_bytes = bytes;
	return err;
}

/* Deletes candidates, oldest first, until no recording is too old and the store is not too large.
 * Returns how many were deleted, or -errno. */
static int retain_delete_some(struct store_writer *w, const struct retain_candidate *items,
			      size_t count, uint64_t now_ns, const struct retain_limits *limits)
{
	uint64_t bytes = 0;
	int err = 0, deleted = 0;

	for (size_t i = 0; err == 0 && i < count; i++) {
		bool is_old = retain_is_old(&items[i], now_ns, limits->age_s);

		if (!is_old && limits->bytes)
			err = store_retain_content(w, &bytes);
		if (err < 0 || !(is_old || (limits->bytes && bytes > limits->bytes)))
			continue;
		err = retain_delete(w, items[i].id);
		deleted += err == 0;
	}
	return err < 0 ? err : deleted;
}

int store_writer_retain(struct store_writer *w, uint64_t max_age_s, uint64_t max_bytes)
{
	struct retain_limits limits = {.age_s = max_age_s};
	struct retain_candidate *items = NULL;
	size_t count = 0;
	uint64_t now_ns = retain_now_ns(), wal_bytes;
	int err = 0, deleted;

	if (max_bytes) {
		err = retain_limit_wal(w, max_bytes, &wal_bytes);
		limits.bytes = max_bytes - wal_bytes;
	}
	if (err == 0)
		err = retain_candidates(w, now_ns, &items, &count);
	if (err < 0)
		return err;
	/* Deleting also writes to the WAL. It is emptied before, to make room, because a reader may
	 * keep it from being emptied later. */
	if (max_bytes && count)
		retain_empty_wal(w);
	deleted = retain_delete_some(w, items, count, now_ns, &limits);
	free(items);
	if (deleted > 0)
		err = store_retain_shrink(w, w->window_bytes);
	if (err == 0 && max_bytes)
		retain_empty_wal(w);
	if (err == 0 && deleted >= 0)
		err = store_retain_content(w, &w->start_bytes);
	return err < 0 ? err : deleted;
}

int store_writer_drop_oldest(struct store_writer *w)
{
	struct retain_candidate *items = NULL;
	size_t count = 0;
	int err;

	/* Deleting also writes to the WAL: make room for that. */
	retain_empty_wal(w);
	err = retain_candidates(w, retain_now_ns(), &items, &count);
	if (err == 0 && count)
		err = retain_delete(w, items[0].id);
	free(items);
	if (err == 0 && count)
		err = store_retain_shrink(w, 0);
	if (err == 0)
		retain_empty_wal(w);
	return err < 0 ? err : count > 0;
}
