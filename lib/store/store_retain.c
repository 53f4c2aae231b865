/* SPDX-License-Identifier: MIT */
/*
 * Retention: old recordings are deleted, one per transaction, and the pages that this frees are
 * given back to the file system by incremental vacuum, some megabytes per transaction.
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
#define RETAIN_VACUUM  "PRAGMA incremental_vacuum(2048)"

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

int store_retain_shrink(struct store_writer *w)
{
	int64_t before = INT64_MAX, now;
	int err, rc;

	for (;;) {
		err = retain_pragma(w, "PRAGMA freelist_count", &now);
		if (err < 0 || now == 0 || now >= before)
			return err;
		before = now;
		rc = sqlite3_exec(w->db, RETAIN_VACUUM, NULL, NULL, NULL);
		if (rc != SQLITE_OK)
			return store_commit_failed(w, rc);
	}
}

static int retain_content_bytes(struct store_writer *w, uint64_t *ret_bytes)
{
	int64_t pages, unused, size;
	int err = retain_pragma(w, "PRAGMA page_count", &pages);

	if (err == 0)
		err = retain_pragma(w, "PRAGMA freelist_count", &unused);
	if (err == 0)
		err = retain_pragma(w, "PRAGMA page_size", &size);
	if (err == 0)
		*ret_bytes = (uint64_t)(pages - unused) * (uint64_t)size;
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

struct retain_candidate {
	int64_t id;
	uint64_t ended_ns; /* wall clock */
};

/* The recordings that may be deleted, oldest first. */
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

static bool retain_is_old(const struct retain_candidate *c, uint64_t now_ns, uint64_t max_age_s)
{
	return max_age_s && c->ended_ns < now_ns &&
	       (now_ns - c->ended_ns) / RETAIN_S_TO_NS >= max_age_s;
}

int store_writer_retain(struct store_writer *w, uint64_t max_age_s, uint64_t max_bytes)
{
	struct retain_candidate *items = NULL;
	size_t count = 0;
	struct timespec ts;
	uint64_t now_ns, bytes = 0;
	int err, deleted = 0;

	clock_gettime(CLOCK_REALTIME, &ts);
	now_ns = (uint64_t)ts.tv_sec * RETAIN_S_TO_NS + (uint64_t)ts.tv_nsec;
	err = retain_candidates(w, now_ns, &items, &count);
	for (size_t i = 0; err == 0 && i < count; i++) {
		bool is_old = retain_is_old(&items[i], now_ns, max_age_s);

		if (!is_old && max_bytes)
			err = retain_content_bytes(w, &bytes);
		if (err < 0 || !(is_old || (max_bytes && bytes > max_bytes)))
			continue;
		err = retain_delete(w, items[i].id);
		deleted += err == 0;
	}
	free(items);
	if (err == 0 && deleted)
		err = store_retain_shrink(w);
	return err < 0 ? err : deleted;
}
