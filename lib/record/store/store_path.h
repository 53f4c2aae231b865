/* SPDX-License-Identifier: MIT */
/*
 * The default path of the store, for stackd and stackctl alike: STACKD_STORE if it is set, else
 * /var/lib/stackd/UID/store.db, where UID is that of the invoking user (SUDO_UID under sudo).
 * So `sudo stackd --pid N` and then `stackctl report` as the same user meet at one file. The
 * folder stays root's and the file becomes the user's. A service's is /var/lib/stackd/0/store.db,
 * which users who have none of their own read, if they are in its group.
 */
#ifndef STORE_STORE_PATH_H
#define STORE_STORE_PATH_H

#include <stdbool.h>
#include <stdint.h>

#define STORE_PATH_GROUP "stackd" /* group of the service's store, which packages create */

/* Returns the default path, malloc()ed; NULL if memory is short. Creates nothing. */
char *store_path_default(void);

/* Returns the default path for readers, malloc()ed: store_path_default(), or if that file does not
 * exist, the path of the service's store; *ret_is_service tells whether it is the service's. NULL
 * if memory is short. */
char *store_path_to_read(bool *ret_is_service);

/* Makes the folder of the default path, with mode 0755 and root as its owner. Returns 0 or
 * -errno. */
int store_path_prepare(const char *path);

/* Makes the user who called sudo the owner of a store that root made; otherwise does nothing.
 * Returns 0 or -errno. */
int store_path_hand_over(const char *path);

/* Lets a group read a store: its file and the files of its WAL get this group and the mode 0640.
 * WAL files that SQLite makes later get the same. Returns 0 or -errno. */
int store_path_share(const char *path, uint32_t gid);

/* Returns whether a store that belongs to the user `owner` may be written to: `owner` is the user
 * of this process, or has called it by sudo. */
bool store_path_is_ours(uint32_t owner);

#endif
