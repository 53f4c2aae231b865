/* SPDX-License-Identifier: MIT */
/*
 * A store that stays readable after the program has given up its rights: its files are opened
 * before, and SQLite gets duplicates of these descriptors instead of opening the files by name.
 *
 * One connection stays open as well, without a transaction. As long as there is one, no other
 * process deletes the write-ahead log, so the descriptors stay those of the store.
 */
#ifndef CLI_WEB_HELD_STORE_H
#define CLI_WEB_HELD_STORE_H

#include <sys/stat.h>

struct held_store;

/* Opens the files of a store, and makes SQLite use them for the path held_store_path(). Returns 0,
 * -ENOENT, -EACCES, -EINVAL: it is no store; or another negative errno. A process can hold one
 * store. */
int held_store_new(const char *path, struct held_store **ret_store);

/* Closes the files; no reader of the store may be open. NULL is allowed. */
void held_store_free(struct held_store *store);

/* Returns the path by which readers open the store. It is no path of a file. */
const char *held_store_path(void);

/* Describes the store's file. Returns 0, or -ENOENT if it has been deleted. */
int held_store_look(const void *store, struct stat *ret_stat);

#endif
