/* SPDX-License-Identifier: MIT */
/*
 * The common base of a store's writer and reader: opens untrusted SQLite files, makes and checks
 * the schema, and converts SQLite's errors to negative errno.
 */
#ifndef STORE_STORE_DB_H
#define STORE_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/table_codec.h"

/* The largest numbers of entries that a recording may have. They bound the memory that a hostile
 * store can make a reader use. */
#define STORE_MAX_ROWS	    (1u << 24) /* objects, processes, threads: each */
#define STORE_MAX_LOCATIONS (1u << 26)
#define STORE_MAX_LINES	    (1u << 26)
#define STORE_MAX_STRINGS   (1u << 26)
#define STORE_MAX_NODES	    (1u << 28)
#define STORE_MAX_ORIGINS   (1u << 24)
#define STORE_MAX_RUNS	    (1u << 26) /* runs of all origins together */
#define STORE_MAX_COUNTERS  4096u
#define STORE_MAX_DEPTH	    4096u  /* inlined functions at one location */
#define STORE_MAX_STRING    65535u /* bytes of a name; longer ones are cut */
#define STORE_MAX_BUILD_ID  64u
#define STORE_MAX_BLOB	    (64u << 20) /* bytes of a chunk */

/* when the WAL starts anew, it is truncated to this size */
#define STORE_WAL_BYTES (4u << 20)

#define STORE_RUN_COUNTER "window.run" /* see store.h */

#define STORE_BUSY_MS 10000 /* a connection waits so long for the locks of others */

/* The kind of a file, by its header. */
enum store_db_kind {
	STORE_DB_EMPTY, /* no bytes at all */
	STORE_DB_STORE,
	STORE_DB_NEWER, /* a store of a version that this program does not know */
	STORE_DB_OTHER,
};

/* Opens an existing file without changing it. `flags` are SQLite's. The caller closes *ret_db with
 * sqlite3_close(). Returns 0 or -errno. */
int store_db_open(const char *path, int flags, sqlite3 **ret_db);

/* Does the same for a file in a folder that is not writable and that nobody else writes. */
int store_db_open_immutable(const char *path, sqlite3 **ret_db);

/* Reads the file's header, bypassing SQLite: takes no lock, replays no journal, writes nothing.
 * Returns 0 or -errno. */
int store_db_kind(sqlite3 *db, enum store_db_kind *ret_kind, uint32_t *ret_version);

/* Makes the schema, in a rollback-journal transaction: a file has its mark and all its tables, or
 * is still empty. 0 or -errno. */
int store_db_create(sqlite3 *db);

/* Converts a store of an older version to this one, since new data may need this version. Writes
 * the new version number to the main file at once, where readers look for it. Returns 0 or -errno.
 */
int store_db_upgrade(sqlite3 *db);

/* Checks that the tables are exactly those of this version, or of earlier versions, whose objects
 * have no layouts. A view or a trigger in place of a table is an attack. Returns 0, -EBADMSG, or
 * -errno. */
int store_db_check_schema(sqlite3 *db, bool *ret_has_layouts);

/* Runs statements that yield no rows. 0 or -errno. */
int store_db_exec(sqlite3 *db, const char *sql);

/* Returns the negative errno for an SQLite result code; 0 for SQLITE_OK, _ROW and _DONE. */
int store_db_errno(sqlite3 *db, int rc);

/* Returns a malloc()ed sentence for the user that explains why opening `path` failed with `err`.
 * `version`: the version of the file, for -ENOTSUP. `detail`: what is damaged, for -EBADMSG. */
char *store_db_sentence(const char *path, int err, uint32_t version, const char *detail);

#endif
