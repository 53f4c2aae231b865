/* SPDX-License-Identifier: MIT */
/* Removes a store that was made for a recording which never began. */
#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/writer_state.h"

/* The first word of a query's answer is this one. */
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

/* Whether there is nothing in the store, and no other process has it open: only then does it leave
 * the mode of a log. */
bool store_is_unused(sqlite3 *db)
{
	sqlite3_busy_timeout(db, 0);
	return query_answers(db, "SELECT count(*) FROM recordings", "0") &&
	       query_answers(db, "PRAGMA journal_mode=DELETE", "delete");
}

void store_remove(const char *path)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	char name[PATH_MAX + 4];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		unlink(name);
	}
}
