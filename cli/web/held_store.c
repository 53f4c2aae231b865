/* SPDX-License-Identifier: MIT */
/*
 * Replaces SQLite's system calls for one store; see held_store.h. SQLite reads by pread(), so
 * duplicates of one descriptor do not disturb each other, and it keeps the locks of a process by
 * inode.
 */
#include "held_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_db.h"

#define HELD_STORE_PATH "/stackctl-web-holds/store"

enum { HELD_MAIN, HELD_WAL, HELD_SHM, HELD_FILES };

static const char *const held_store_endings[HELD_FILES] = {"", "-wal", "-shm"};

struct held_store {
	sqlite3 *db;	     /* the connection that stays open */
	int fds[HELD_FILES]; /* -1: there is no such file */
};

/* SQLite's table of system calls is of the process, and its functions have no argument. */
static struct {
	struct held_store *store;
	int (*open)(const char *, int, int);
	int (*stat)(const char *, struct stat *);
	int (*access)(const char *, int);
} held_store;

/* Returns the descriptor for a name that SQLite uses: -1: the store has no such file; -2: the name
 * is of another file. */
static int held_store_fd(const char *path)
{
	const size_t len = strlen(HELD_STORE_PATH);

	if (!held_store.store || strncmp(path, HELD_STORE_PATH, len) != 0)
		return -2;
	for (unsigned i = 0; i < HELD_FILES; i++)
		if (strcmp(path + len, held_store_endings[i]) == 0)
			return held_store.store->fds[i];
	return -1;
}

static int held_store_open(const char *path, int flags, int mode)
{
	const int fd = held_store_fd(path);

	if (fd == -2)
		return held_store.open(path, flags, mode);
	if (fd < 0) {
		errno = ENOENT;
		return -1;
	}
	return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static int held_store_stat(const char *path, struct stat *ret_stat)
{
	const int fd = held_store_fd(path);

	if (fd == -2)
		return held_store.stat(path, ret_stat);
	if (fd >= 0 && fstat(fd, ret_stat) == 0 && ret_stat->st_nlink)
		return 0;
	errno = ENOENT;
	return -1;
}

static int held_store_access(const char *path, int mode)
{
	const int fd = held_store_fd(path);

	if (fd == -2)
		return held_store.access(path, mode);
	errno = ENOENT;
	return fd < 0 ? -1 : 0;
}

/* Opens the connection that stays. Reading something makes SQLite open, or make, all files. Where
 * it cannot make them, on a read-only file system, the connection is of the main file alone. */
static int keep_open(const char *path, sqlite3 **ret_db)
{
	enum store_db_kind kind = STORE_DB_OTHER;
	uint32_t version;
	int err = store_db_open(path, SQLITE_OPEN_READONLY, ret_db);

	if (err == 0)
		err = store_db_kind(*ret_db, &kind, &version);
	if (err == 0 && kind != STORE_DB_STORE)
		err = -EINVAL;
	if (err == 0)
		err = store_db_exec(*ret_db, "SELECT 1 FROM sqlite_schema");
	if (err && *ret_db && store_db_can_be_immutable(path, sqlite3_errcode(*ret_db))) {
		sqlite3_close(*ret_db);
		*ret_db = NULL;
		err = store_db_open_immutable(path, ret_db);
		if (err == 0)
			err = store_db_exec(*ret_db, "SELECT 1 FROM sqlite_schema");
	}
	return err;
}

static int open_files(struct held_store *store, const char *path)
{
	const size_t size = strlen(path) + 8;
	char *name = malloc(size);

	if (!name)
		return -ENOMEM;
	for (unsigned i = 0; i < HELD_FILES; i++) {
		strcpy(name, path);
		strcat(name, held_store_endings[i]);
		store->fds[i] = open(name, (i ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW);
	}
	free(name);
	return store->fds[HELD_MAIN] < 0 ? -errno : 0;
}

static int replace(sqlite3_vfs *vfs)
{
	if (!vfs || vfs->iVersion < 3)
		return -ENOTSUP;
	held_store.open = (int (*)(const char *, int, int))vfs->xGetSystemCall(vfs, "open");
	held_store.stat = (int (*)(const char *, struct stat *))vfs->xGetSystemCall(vfs, "stat");
	held_store.access = (int (*)(const char *, int))vfs->xGetSystemCall(vfs, "access");
	vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)held_store_open);
	vfs->xSetSystemCall(vfs, "stat", (sqlite3_syscall_ptr)held_store_stat);
	vfs->xSetSystemCall(vfs, "access", (sqlite3_syscall_ptr)held_store_access);
	return 0;
}

int held_store_new(const char *path, struct held_store **ret_store)
{
	struct held_store *store = calloc(1, sizeof(*store));
	char *real = realpath(path, NULL);
	int err = real ? 0 : -errno;

	if (!store)
		err = -ENOMEM;
	for (unsigned i = 0; store && i < HELD_FILES; i++)
		store->fds[i] = -1;
	if (err == 0)
		err = keep_open(real, &store->db);
	if (err == 0)
		err = open_files(store, real);
	if (err == 0)
		err = replace(sqlite3_vfs_find("unix"));
	free(real);
	if (err) {
		held_store_free(store);
		return err;
	}
	*ret_store = held_store.store = store;
	return 0;
}

void held_store_free(struct held_store *store)
{
	if (!store)
		return;
	held_store.store = NULL;
	sqlite3_close(store->db);
	for (unsigned i = 0; i < HELD_FILES; i++)
		if (store->fds[i] >= 0)
			close(store->fds[i]);
	free(store);
}

const char *held_store_path(void)
{
	return HELD_STORE_PATH;
}

int held_store_look(const void *arg, struct stat *ret_stat)
{
	const struct held_store *store = arg;

	if (fstat(store->fds[HELD_MAIN], ret_stat) < 0)
		return -errno;
	return ret_stat->st_nlink ? 0 : -ENOENT;
}
