/* SPDX-License-Identifier: MIT */
/*
 * Counts recordings that were deleted before they were sent. Recordings wait in the store until a
 * server has accepted them, and stackd deletes the oldest ones (--keep-bytes, --keep-age), sent or
 * not. Comparing the store's recordings with those of an earlier moment shows which ones have
 * disappeared.
 */
#ifndef CLI_UNSENT_H
#define CLI_UNSENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "cli/input.h"

struct unsent_recording {
	int64_t id;
	uint64_t end_unix_ns; /* 0: it has not ended */
};

struct unsent {
	VEC(struct unsent_recording) ids; /* the waiting recordings, in order of their numbers */
};

/* Takes the store's recordings, in order of their numbers: those that the input chooses wait from
 * now on until unsent_done(). Returns how many waiting recordings have disappeared since the last
 * call; -ENOMEM: no recording waits any more. */
int64_t unsent_look(struct unsent *waiting, const struct input *input,
		    const struct store_recording *recordings, size_t n);

/* Notes that the server has a recording, so it no longer waits. */
void unsent_done(struct unsent *waiting, int64_t id);

/* Returns when the oldest waiting recording ended, of those that have; 0: there is none. */
uint64_t unsent_oldest(const struct unsent *waiting);

/* Returns how many of the waiting recordings have ended. */
uint64_t unsent_ended(const struct unsent *waiting);

/* Tells the user how many recordings were deleted before they were sent, if any. */
void unsent_report(int64_t deleted);

void unsent_free(struct unsent *waiting);

#endif
