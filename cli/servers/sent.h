/* SPDX-License-Identifier: MIT */
/*
 * Which recordings, and how much of them, servers have taken: a file of lines that are appended,
 *
 *   SERVER <tab> HOST <tab> START <tab> END <tab> TAKEN <tab> ALL
 *
 * with the recording's start and end in nanoseconds (a recording is known by its start and its
 * host, as numbers of recordings are a store's own), and numbers of entries. Of several lines about
 * the same the last one counts. A recording with another end than noted has grown after it was
 * taken for ended, as when a machine slept: what has come is not told from what was there, so the
 * rest stays away rather than that all counts twice. The file is locked while a program has it, so
 * that two that push from one store do not send the same.
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

enum sent_state { SENT_NOT, SENT_PART, SENT_ALL, SENT_GROWN };

/* Returns what a server has of a recording; *ret_entries: how many entries of it, of SENT_PART. */
enum sent_state sent_state(const struct sent *sent, const char *server,
			   const struct store_recording *recording, size_t *ret_entries);

/* Notes how many it has taken; when it returns, the disk has that. 0, or a negative errno. */
int sent_add(struct sent *sent, const char *server, const struct store_recording *recording,
	     size_t taken, size_t all);

/* Returns the error of the last sent_add(); 0: none. */
int sent_error(const struct sent *sent);

#endif
