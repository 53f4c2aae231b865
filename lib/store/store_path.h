/* SPDX-License-Identifier: MIT */
/*
 * The default path of the store, for stackd and stackctl alike: STACKD_STORE if it is set, else
 * /var/lib/stackd/UID/store.db, where UID is that of the invoking user (SUDO_UID under sudo).
 * So `sudo stackd --pid N` and then `stackctl report` as the same user meet at one file. The
 * folder stays root's and the file becomes the user's; a service's is /var/lib/stackd/0.
 */
#ifndef STORE_STORE_PATH_H
#define STORE_STORE_PATH_H

/* The default path, malloc()ed; NULL for lack of memory. Makes nothing. */
char *store_path_default(void);

/* Makes the folder of the default path (0755, root's). 0 or -errno. */
int store_path_prepare(const char *path);

/* Gives a store that root made to the user who called sudo; no-op otherwise. 0 or -errno. */
int store_path_hand_over(const char *path);

#endif
