/* SPDX-License-Identifier: MIT */
/*
 * Which recordings, and how much of them, servers have taken: a file of lines that are appended,
 *
 *   SERVER <tab> HOST <tab> START <tab> END <tab> TAKEN <tab> ALL
 *
 * with the recording's start and end in nanoseconds (a recording is known by them and its host, as
 * numbers of recordings are a store's own), and numbers of entries. Of several lines about the same
 * the last one counts. The file is locked while a program has it, so that two that push from one
 * store do not send the same.
 */
#ifndef CLI_SENT_H
#define CLI_SENT_H

#include <stdbool.h>
#include <stddef.h>

#include "store/store.h"

struct sent;

/* Opens a file, which is made if there is none, and locks it. A cmd_status; a message has been
 * given if it is not CMD_DONE. */
int sent_open(const char *path, struct sent **ret_sent);
void sent_free(struct sent *sent); /* NULL is fine */

const char *sent_path(const struct sent *sent);

/* Returns how many entries a server has taken. */
size_t sent_entries(const struct sent *sent, const char *server,
		    const struct store_recording *recording);

/* Returns whether it has taken all of them. */
bool sent_is_all(const struct sent *sent, const char *server,
		 const struct store_recording *recording);

/* Notes how many it has taken; when it returns, the disk has that. 0, or a negative errno. */
int sent_add(struct sent *sent, const char *server, const struct store_recording *recording,
	     size_t taken, size_t all);

/* Returns the error of the last sent_add(); 0: none. */
int sent_error(const struct sent *sent);

#endif
