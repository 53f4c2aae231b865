/* SPDX-License-Identifier: MIT */
/*
 * Keeps a file of what servers have accepted of recordings, and of what they refuse. Lines are
 * appended to it:
 *
 *   SERVER <tab> HOST <tab> START <tab> END <tab> SETTLED <tab> ALL [<tab> PROFILE <tab> TRIES
 * <tab> ASIDE]
 *
 * START and END are the recording's, in nanoseconds; SETTLED, ALL and ASIDE are numbers of entries.
 * A line with PROFILE is about one profile of the recording, of which the first SETTLED entries
 * were accepted or, ASIDE of them, set aside for good; the server has refused the next ones TRIES
 * times. PROFILE ends with "@place" if its entries have the order of OTLP's resources
 * (push_profile.h). A line without PROFILE, or with "-", is about the recording as a whole. Start
 * and host identify a recording, because its number is only valid in its store. Of several lines
 * about one recording or profile the last one is valid.
 *
 * If a recording has another end than its line, it has grown after it seemed to have ended, as when
 * the machine slept. Its new entries cannot be told from the old ones, so they are not sent;
 * otherwise the old entries would count twice. The file is locked while a program uses it, so that
 * two programs do not push the same recordings from one store.
 */
#ifndef CLI_SENT_H
#define CLI_SENT_H

#include <stdbool.h>
#include <stddef.h>

#include "push/push_profile.h"
#include "store/store.h"

#define SENT_TRIES 3u /* refusals after which entries are set aside */

struct sent;

/* Opens the file, which is created if it is missing, and locks it. Returns a cmd_status; a message
 * has been printed if it is not CMD_DONE. */
int sent_open(const char *path, struct sent **ret_sent);
void sent_free(struct sent *sent); /* NULL is fine */

const char *sent_path(const struct sent *sent);

enum sent_state { SENT_NOT, SENT_ALL, SENT_GROWN };

/* Returns whether a recording is settled at a server; with SENT_ALL, *ret_aside is the number of
 * entries that were set aside. */
enum sent_state sent_state(struct sent *sent, const char *server,
			   const struct store_recording *recording, size_t *ret_aside);

struct sent_profile {
	size_t settled; /* number of entries that were accepted or set aside ... */
	size_t aside;	/* ... and how many of them were set aside */
	unsigned tries; /* how often the server has refused the next ones */
};

/* Returns how far a recording's profile has been sent to a server. */
struct sent_profile sent_profile(struct sent *sent, const char *server,
				 const struct store_recording *recording,
				 const struct push_profile *profile);

/* Writes a line that says that the first `settled` entries of a profile are settled, since the
 * server has accepted the last ones; it is on disk when this returns. Returns 0 or a negative
 * errno.
 */
int sent_note(struct sent *sent, const char *server, const struct store_recording *recording,
	      const struct push_profile *profile, size_t settled);

/* Sets the next `n` entries of a profile aside; writes a line as sent_note() does. */
int sent_set_aside(struct sent *sent, const char *server, const struct store_recording *recording,
		   const struct push_profile *profile, size_t n);

/* Counts that a server has refused the next `n` entries of a profile, and writes a line. The
 * SENT_TRIES-th time they are set aside; of what is behind them, all that the server refuses is set
 * aside at once, until it accepts something. Returns 1: they are set aside; 0: they are not; or a
 * negative errno. */
int sent_refuse(struct sent *sent, const char *server, const struct store_recording *recording,
		const struct push_profile *profile, size_t n);

/* Notes, in memory only, that a server failed at the next `n` entries of a profile, and may be at
 * fault itself. Returns 0 or a negative errno. */
int sent_doubt(struct sent *sent, const char *server, const struct store_recording *recording,
	       const struct push_profile *profile, size_t n);

/* Ends a round of pushes. If the server has accepted others in it, then those that it failed at
 * count as refused, as by sent_refuse(). Returns how many were set aside, or a negative errno. */
int sent_end_round(struct sent *sent, bool has_accepted);

/* Writes a line that says that all profiles of a recording are settled, with `all` entries, of
 * which `aside` were set aside. Returns 0 or a negative errno. */
int sent_add(struct sent *sent, const char *server, const struct store_recording *recording,
	     size_t all, size_t aside);

/* Returns the error of the last function that wrote a line; 0: it succeeded. */
int sent_error(const struct sent *sent);

#endif
