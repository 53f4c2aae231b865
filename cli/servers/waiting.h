/* SPDX-License-Identifier: MIT */
/*
 * Counts recordings that were deleted before they were sent. Recordings wait in the store until a
 * server has accepted them, and stackd deletes the oldest ones (--keep-bytes, --keep-age), sent or
 * not. Two looks at the store show which ones disappeared in between.
 */
#ifndef CLI_WAITING_H
#define CLI_WAITING_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "cli/input.h"

struct waiting {
	VEC(int64_t) ids; /* of waiting recordings, in order of number */
};

/* Notes the store's recordings, which come in the order of their numbers: those that the input
 * chooses wait until waiting_done(). Returns how many waiting recordings have disappeared since the
 * last look, or -ENOMEM, and then none waits. */
int64_t waiting_look(struct waiting *waiting, const struct input *input,
		     const struct store_recording *recordings, size_t n);

/* Notes that the server has a recording, so it no longer waits. */
void waiting_done(struct waiting *waiting, int64_t id);

/* Says how many were deleted, if any. */
void waiting_report(int64_t deleted);

void waiting_free(struct waiting *waiting);

#endif
