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
#define STORE_MAX_ROWS	    (1u << 24) /* most objects, most processes, and most threads */
#define STORE_MAX_LOCATIONS (1u << 26)
#define STORE_MAX_LINES	    (1u << 26)
#define STORE_MAX_STRINGS   (1u << 26)
#define STORE_MAX_NODES	    (1u << 28)
#define STORE_MAX_ORIGINS   (1u << 24)
#define STORE_MAX_RUNS	    (1u << 26) /* runs of all origins together */
#define STORE_MAX_COUNTERS  4096u
#define STORE_MAX_DEPTH	    4096u  /* most inlined functions at one location */
#define STORE_MAX_STRING    65535u /* most bytes of a name; longer names are cut */
#define STORE_MAX_BUILD_ID  64u
#define STORE_MAX_BLOB	    (64u << 20) /* bytes of a chunk */

/* when the WAL starts anew, it is truncated to this size */
#define STORE_WAL_BYTES (4u << 20)

#define STORE_RUN_COUNTER "window.run" /* see store.h */

#define STORE_BUSY_MS 10000 /* ms that a connection waits for the locks of others */

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

/* Does the same for a file in a folder that this process cannot write to, as immutable: nobody else
 * may be writing the file. */
int store_db_open_immutable(const char *path, sqlite3 **ret_db);

/* Closes a connection that has only read; NULL is allowed. Such a connection makes a -wal and a
 * -shm file where there are none, and cannot remove them. So if the -wal is empty, a connection
 * that may write does that, as its last one does with every store; SQLite's locks keep the files
 * while anybody else has the store open. */
void store_db_close_reader(sqlite3 *db);

/* Returns whether reading has failed, with SQLite's result code `rc`, only because the -shm file
 * could not be opened or made, and the -wal has nothing to read: the file can be opened as
 * immutable. */
bool store_db_can_be_immutable(const char *path, int rc);

/* Reads the file's header, bypassing SQLite's pages: takes no lock, replays no journal, writes
 * nothing. *ret_kind tells what the file is, *ret_version the store's version. Returns 0 or
 * -errno. */
int store_db_kind(sqlite3 *db, enum store_db_kind *ret_kind, uint32_t *ret_version);

/* Makes the schema in one transaction with a rollback journal, so that the file has either its mark
 * and all its tables or is still empty. Removes a WAL that a deleted store of the same name left.
 * Returns 0 or -errno. */
int store_db_create(sqlite3 *db);

/* Converts a store of an older version to the current one, since what will be written may need it.
 * Writes the new version number to the main file at once (not only to the WAL), because readers
 * look for it there. Returns 0 or -errno. */
int store_db_upgrade(sqlite3 *db);

/* Checks that the tables are exactly those of this version, or those of an older one;
 * *ret_has_layouts is false if `objects` lacks the column `layout` (before version 5). A view or a
 * trigger in place of a table is an attack. Returns 0, -EBADMSG, or -errno. */
int store_db_check_schema(sqlite3 *db, bool *ret_has_layouts);

/* Runs statements that yield no rows. Returns 0 or -errno. */
int store_db_exec(sqlite3 *db, const char *sql);

/* Returns the negative errno for an SQLite result code; 0 for SQLITE_OK, _ROW and _DONE. */
int store_db_errno(sqlite3 *db, int rc);

/* Returns a malloc()ed sentence for the user that explains why opening `path` failed with `err`.
 * `version`: the version of the file, for -ENOTSUP. `detail`: what is damaged, for -EBADMSG. */
char *store_db_sentence(const char *path, int err, uint32_t version, const char *detail);

#endif
