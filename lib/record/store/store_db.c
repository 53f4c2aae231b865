/* SPDX-License-Identifier: MIT */
/*
 * A store as a SQLite file.
 *
 * The data that a user would look at with the sqlite3 shell is in ordinary tables; the large data
 * is in `chunks`, whose rows are long blobs on overflow pages, a hundred or so for a million
 * samples.
 *
 * A file that is not a store must not be touched, and opening a SQLite file does touch it: SQLite
 * rolls a journal back, or checkpoints a WAL. So the first 100 bytes are read through SQLite's
 * file handle, below all of that. (A file handle of our own would not do: closing it would drop
 * the locks that another connection of this process holds on the file.) It follows that a store's
 * header must be in the main file from the start, which is why the schema is made with a rollback
 * journal and WAL mode is switched on afterwards.
 *
 * A hostile file could hold a view or a trigger instead of a table, and make a SELECT run for
 * ever; so the schema is compared with that of a fresh one, text by text, before anything is
 * asked. SQLite itself runs with the settings that it recommends for untrusted files.
 */
#include "store/store_db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store.h"

static const char store_db_schema[] =
	"CREATE TABLE recordings(id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" start_unix_ns INTEGER, start_ns INTEGER, end_ns INTEGER,"
	" host TEXT, kernel TEXT, arch TEXT, command TEXT, target TEXT, event TEXT, note TEXT,"
	" frequency_hz INTEGER, period INTEGER, cpus INTEGER, finished INTEGER,"
	" samples INTEGER, lost INTEGER, kernel_ns INTEGER, kernel_runs INTEGER);"
	"CREATE TABLE objects(recording INTEGER, number INTEGER, kind INTEGER, file_id INTEGER,"
	" path TEXT, build_id BLOB, problem TEXT, PRIMARY KEY(recording, number)) WITHOUT ROWID;"
	"CREATE TABLE processes(recording INTEGER, number INTEGER, pid INTEGER, parent INTEGER,"
	" comm TEXT, exe TEXT, PRIMARY KEY(recording, number)) WITHOUT ROWID;"
	"CREATE TABLE threads(recording INTEGER, number INTEGER, process INTEGER, tid INTEGER,"
	" comm TEXT, PRIMARY KEY(recording, number)) WITHOUT ROWID;"
	"CREATE TABLE counters(recording INTEGER, name TEXT, value INTEGER,"
	" PRIMARY KEY(recording, name)) WITHOUT ROWID;"
	"CREATE TABLE chunks(id INTEGER PRIMARY KEY, recording INTEGER, kind INTEGER, seq INTEGER,"
	" count INTEGER, first_ns INTEGER, data BLOB);"
	"CREATE UNIQUE INDEX chunks_by_kind ON chunks(recording, kind, seq);";

/* The statement by which a store of an older version gets the column that version 5 added. */
static const char store_db_layouts[] = "ALTER TABLE objects ADD COLUMN layout INTEGER";

/* --- errors --------------------------------------------------------------------------------- */

int store_db_errno(sqlite3 *db, int rc)
{
	int os = db ? sqlite3_system_errno(db) : 0;

	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
		return os == EROFS ? -EROFS : -EACCES;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return os > 0 ? -os : -EACCES;
	case SQLITE_NOTADB:
		return -EINVAL;
	case SQLITE_CORRUPT:
	case SQLITE_TOOBIG:
	case SQLITE_MISMATCH:
		return -EBADMSG;
	case SQLITE_IOERR:
		if (os == ENOSPC || os == EDQUOT || os == EROFS)
			return os == EROFS ? -EROFS : -ENOSPC;
		return rc == SQLITE_IOERR_NOMEM ? -ENOMEM : -EIO;
	case SQLITE_ERROR: /* an error in our SQL: the tables are not as they should be */
		return -EBADMSG;
	default:
		return -EIO;
	}
}

/* Returns the reason and the remedy for an errno; NULL if the sentence must also tell more (a
 * version, what is damaged). */
static const char *explain(int err)
{
	switch (-err) {
	case ENOENT:
		return "no such file or directory";
	case EINVAL:
		return "not a stackd store";
	case EPERM:
		return "belongs to another user, or may not be changed; choose another file";
	case EACCES:
		return "permission denied; run as the owner of the store or as root";
	case EROFS:
		return "read-only file system; choose another file";
	case ENOSPC:
		return "no space left on the device; free some space or choose another file";
	case EBUSY:
		return "locked by another program; try again";
	case ENODATA:
		return "no such recording; `stackctl list` shows those of the store";
	default:
		return NULL;
	}
}

char *store_db_sentence(const char *path, int err, uint32_t version, const char *detail)
{
	const char *known = explain(err);
	char *s = NULL;
	int n;

	if (err == -ENOENT && !strcmp(path, "-"))
		n = asprintf(&s, "a store is a file, not a stream: give its name instead of '-'");
	else if (known)
		n = asprintf(&s, "%s: %s", path, known);
	else if (err == -ENOTSUP)
		n = asprintf(&s,
			     "%s: store version %u is newer than %d, the latest that this program "
			     "reads; use a newer stackctl",
			     path, version, STORE_VERSION);
	else if (err == -EBADMSG)
		n = asprintf(&s, "%s: damaged store (%s); use a copy or record again", path,
			     detail);
	else
		n = asprintf(&s, "%s: cannot open: %s", path, strerror(-err));
	return n < 0 ? NULL : s;
}

/* --- opening -------------------------------------------------------------------------------- */

static int harden(sqlite3 *db)
{
	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, STORE_BUSY_MS);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, STORE_MAX_BLOB + 4096);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	return store_db_errno(db, sqlite3_exec(db, "PRAGMA cell_size_check=ON", 0, 0, 0));
}

static int open_as(const char *name, int flags, sqlite3 **ret_db)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(name, &db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	int err = store_db_errno(db, rc);

	if (err == 0)
		err = harden(db);
	if (err < 0) {
		sqlite3_close(db);
		return err;
	}
	*ret_db = db;
	return 0;
}

/* Describes a file by the system call that SQLite has for that. A program that has opened a store
 * before it gave up its rights replaces it for that store (cli/web/held_store.h). Returns 0 or
 * -errno. */
static int look(const char *path, struct stat *ret_stat)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
	int (*its_stat)(const char *, struct stat *) = NULL;

	if (vfs && vfs->iVersion >= 3)
		its_stat = (int (*)(const char *, struct stat *))vfs->xGetSystemCall(vfs, "stat");
	if (!its_stat)
		its_stat = stat;
	return its_stat(path, ret_stat) < 0 ? -errno : 0;
}

int store_db_open(const char *path, int flags, sqlite3 **ret_db)
{
	const int rights = flags & SQLITE_OPEN_READWRITE ? R_OK | W_OK : R_OK;
	struct stat st;
	int err = look(path, &st);

	if (err < 0)
		return err;
	if (!S_ISREG(st.st_mode)) /* opening a pipe could block */
		return -EINVAL;
	/* A store that is there, though not under its name, is one that was opened before. */
	if (faccessat(AT_FDCWD, path, rights, AT_EACCESS) < 0 && errno != ENOENT)
		return -errno;
	return open_as(path, flags, ret_db);
}

int store_db_open_immutable(const char *path, sqlite3 **ret_db)
{
	size_t len = strlen(path);
	char *uri = malloc(3 * len + sizeof("file:?immutable=1")), *to = uri;
	int err;

	if (!uri)
		return -ENOMEM;
	to += sprintf(to, "file:");
	for (size_t i = 0; i < len; i++) {
		if (strchr("%?#", path[i]))
			to += sprintf(to, "%%%02X", (unsigned char)path[i]);
		else
			*to++ = path[i];
	}
	sprintf(to, "?immutable=1");
	err = open_as(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, ret_db);
	free(uri);
	return err;
}

bool store_db_can_be_immutable(const char *path, int rc)
{
	struct stat st;
	char *name;
	bool is_empty;

	if (((rc & 0xff) != SQLITE_CANTOPEN && (rc & 0xff) != SQLITE_READONLY) ||
	    asprintf(&name, "%s-wal", path) < 0)
		return false;
	is_empty = stat(name, &st) < 0 || !st.st_size;
	free(name);
	return is_empty;
}

/* Removes an empty -wal and its -shm. */
static void sweep(const char *path)
{
	sqlite3 *db = NULL;
	struct stat st;
	char *wal;
	bool is_empty;

	if (asprintf(&wal, "%s-wal", path) < 0)
		return;
	is_empty = !lstat(wal, &st) && S_ISREG(st.st_mode) && !st.st_size;
	free(wal);
	if (!is_empty || store_db_open(path, SQLITE_OPEN_READWRITE, &db) < 0)
		return;
	sqlite3_busy_timeout(db, 0);
	sqlite3_exec(db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
	sqlite3_close(db);
}

void store_db_close_reader(sqlite3 *db)
{
	const char *name = db ? sqlite3_db_filename(db, "main") : NULL;
	char *path = name && *name ? strdup(name) : NULL;

	sqlite3_close(db);
	if (path)
		sweep(path);
	free(path);
}

static uint32_t be32(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

int store_db_kind(sqlite3 *db, enum store_db_kind *ret_kind, uint32_t *ret_version)
{
	sqlite3_file *file = NULL;
	sqlite3_int64 size = 0;
	uint8_t header[100];
	int rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	if (rc == SQLITE_OK && file && file->pMethods)
		rc = file->pMethods->xFileSize(file, &size);
	if (rc == SQLITE_OK && size >= (sqlite3_int64)sizeof(header))
		rc = file->pMethods->xRead(file, header, sizeof(header), 0);
	if (rc != SQLITE_OK)
		return store_db_errno(db, rc);
	*ret_version = 0;
	*ret_kind = size ? STORE_DB_OTHER : STORE_DB_EMPTY;
	/* The offsets are those of SQLite's file format, section 1.3. */
	if (size < (sqlite3_int64)sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0 ||
	    be32(header + 68) != STORE_APPLICATION_ID)
		return 0;
	*ret_version = be32(header + 60);
	*ret_kind = *ret_version > STORE_VERSION ? STORE_DB_NEWER : STORE_DB_STORE;
	return 0;
}

/* --- schema --------------------------------------------------------------------------------- */

int store_db_exec(sqlite3 *db, const char *sql)
{
	return store_db_errno(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static int create_locked(sqlite3 *db)
{
	char *marks;
	int err;

	err = store_db_exec(db, store_db_schema);
	if (err == 0)
		err = store_db_exec(db, store_db_layouts);
	if (err < 0)
		return err;
	marks = sqlite3_mprintf("PRAGMA application_id=%d; PRAGMA user_version=%d",
				STORE_APPLICATION_ID, STORE_VERSION);
	if (!marks)
		return -ENOMEM;
	err = store_db_exec(db, marks);
	sqlite3_free(marks);
	return err < 0 ? err : store_db_exec(db, "COMMIT");
}

/* Requests incremental vacuum for the database that this connection will make. SQLite acts on this
 * pragma when it compiles it; running it as well would write a first page of its own. */
static int prepare_vacuum(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA auto_vacuum=INCREMENTAL", -1, &stmt, NULL);

	sqlite3_finalize(stmt);
	return store_db_errno(db, rc);
}

/* Removes the WAL and WAL index that a deleted store of the same name left behind. SQLite would
 * take them for the new store's, and a writer of the deleted store may still be using them. The
 * caller has an exclusive lock on the empty file: otherwise, another process could have made the
 * store meanwhile, and the files be that store's. */
static void remove_left(sqlite3 *db)
{
	static const char *const suffixes[] = {"-wal", "-shm"};
	const char *path = sqlite3_db_filename(db, "main");

	for (size_t i = 0; path && *path && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char *name;

		if (asprintf(&name, "%s%s", path, suffixes[i]) < 0)
			return;
		unlink(name);
		free(name);
	}
}

int store_db_create(sqlite3 *db)
{
	enum store_db_kind kind;
	uint32_t version;
	int err;

	err = prepare_vacuum(db);
	if (err == 0)
		err = store_db_exec(db, "BEGIN EXCLUSIVE");
	if (err < 0)
		return err;
	/* Another process may have made the schema before we got the lock. */
	err = store_db_kind(db, &kind, &version);
	if (err == 0 && kind == STORE_DB_EMPTY) {
		remove_left(db);
		err = create_locked(db);
	}
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

static const char store_db_list[] =
	"SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";

/* Compares two listings of a schema row by row. */
static int compare(sqlite3 *db, sqlite3_stmt *a, sqlite3_stmt *b)
{
	for (;;) {
		int rc_a = sqlite3_step(a), rc_b = sqlite3_step(b);

		if (rc_a != SQLITE_ROW && rc_a != SQLITE_DONE)
			return store_db_errno(db, rc_a);
		if (rc_a != rc_b)
			return -EBADMSG;
		if (rc_a == SQLITE_DONE)
			return 0;
		for (int i = 0; i < 4; i++) {
			const char *x = (const char *)sqlite3_column_text(a, i);
			const char *y = (const char *)sqlite3_column_text(b, i);

			if (!x != !y || (x && strcmp(x, y) != 0))
				return -EBADMSG;
		}
	}
}

static int check_schema(sqlite3 *db, bool has_layouts)
{
	sqlite3 *fresh = NULL;
	sqlite3_stmt *a = NULL, *b = NULL;
	int rc, err;

	err = open_as(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &fresh);
	if (err == 0)
		err = store_db_exec(fresh, store_db_schema);
	if (err == 0 && has_layouts)
		err = store_db_exec(fresh, store_db_layouts);
	if (err == 0) {
		rc = sqlite3_prepare_v2(db, store_db_list, -1, &a, NULL);
		err = store_db_errno(db, rc);
	}
	if (err == 0) {
		rc = sqlite3_prepare_v2(fresh, store_db_list, -1, &b, NULL);
		err = store_db_errno(fresh, rc);
	}
	if (err == 0)
		err = compare(db, a, b);
	sqlite3_finalize(a);
	sqlite3_finalize(b);
	sqlite3_close(fresh);
	return err;
}

int store_db_check_schema(sqlite3 *db, bool *ret_has_layouts)
{
	int err = check_schema(db, true);

	*ret_has_layouts = err == 0;
	return err == -EBADMSG ? check_schema(db, false) : err;
}

/* --- older versions --------------------------------------------------------------------------- */

static int upgrade_locked(sqlite3 *db)
{
	char *mark = sqlite3_mprintf("PRAGMA user_version=%d", STORE_VERSION);
	bool has_layouts;
	int err = mark ? store_db_check_schema(db, &has_layouts) : -ENOMEM;

	if (err == 0 && !has_layouts)
		err = store_db_exec(db, store_db_layouts);
	if (err == 0)
		err = store_db_exec(db, mark);
	sqlite3_free(mark);
	return err == 0 ? store_db_exec(db, "COMMIT") : err;
}

/* Versions differ only in what chunks may contain, except that version 5 also added a column. */
int store_db_upgrade(sqlite3 *db)
{
	int err = store_db_exec(db, "BEGIN IMMEDIATE");

	if (err < 0)
		return err;
	/* Another process may have upgraded the store before we got the lock, which does no
	 * harm. */
	err = upgrade_locked(db);
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	if (err == 0)
		sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	return err;
}
