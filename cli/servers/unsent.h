/* SPDX-License-Identifier: MIT */
/*
 * Counts recordings that were deleted before they were sent. Recordings wait in the store until a
 * server has accepted them, and stackd deletes the oldest ones (--keep-bytes, --keep-age), sent or
 * not. Two looks at the store show which ones disappeared in between.
 */
#ifndef CLI_UNSENT_H
#define CLI_UNSENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "cli/input.h"

struct unsent {
	VEC(int64_t) ids; /* of waiting recordings, in order of number */
};

/* Notes the store's recordings, which come in the order of their numbers: those that the input
 * chooses wait until unsent_done(). Returns how many waiting recordings have disappeared since the
 * last look, or -ENOMEM, and then none waits. */
int64_t unsent_look(struct unsent *waiting, const struct input *input,
		    const struct store_recording *recordings, size_t n);

/* Notes that the server has a recording, so it no longer waits. */
void unsent_done(struct unsent *waiting, int64_t id);

/* Says how many were deleted, if any. */
void unsent_report(int64_t deleted);

void unsent_free(struct unsent *waiting);

#endif
