/* SPDX-License-Identifier: MIT */
/*
 * Keeps a file of the recordings, or parts of them, that servers have accepted. Lines are appended
 * to it:
 *
 *   SERVER <tab> HOST <tab> START <tab> END <tab> TAKEN <tab> ALL
 *
 * START and END are the recording's, in nanoseconds; TAKEN and ALL are numbers of entries. Start
 * and host identify a recording, because its number is only valid in its store. Of several lines
 * about one recording the last one is valid. If a recording has another end than its line, it has
 * grown after it seemed to have ended, as when the machine slept. Its new entries cannot be told
 * from the old ones, so they are not sent; otherwise the old entries would count twice. The file is
 * locked while a program uses it, so that two programs do not push the same recordings from one
 * store.
 */
#ifndef CLI_SENT_H
#define CLI_SENT_H

#include <stdbool.h>
#include <stddef.h>

#include "store/store.h"

struct sent;

/* Opens the file, which is created if it is missing, and locks it. Returns a cmd_status; a message
 * has been printed if it is not CMD_DONE. */
int sent_open(const char *path, struct sent **ret_sent);
void sent_free(struct sent *sent); /* NULL is fine */

const char *sent_path(const struct sent *sent);

enum sent_state { SENT_NOT, SENT_PART, SENT_ALL, SENT_GROWN };

/* Returns whether a server has all, a part or nothing of a recording; with SENT_PART, *ret_entries
 * is the number of entries that it has. */
enum sent_state sent_state(const struct sent *sent, const char *server,
			   const struct store_recording *recording, size_t *ret_entries);

/* Writes a line about how many entries of a recording a server has accepted, which is on disk when
 * this returns. Returns 0 or a negative errno. */
int sent_add(struct sent *sent, const char *server, const struct store_recording *recording,
	     size_t taken, size_t all);

/* Returns the error of the last sent_add(); 0: it succeeded. */
int sent_error(const struct sent *sent);

#endif
