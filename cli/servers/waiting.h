/* SPDX-License-Identifier: MIT */
/*
 * The store is what recordings wait in until a server has taken them, and stackd deletes its oldest
 * ones (--keep-bytes, --keep-age), whether they were sent or not. This counts those that were
 * deleted while they waited, between one look at the store and the next.
 */
#ifndef CLI_WAITING_H
#define CLI_WAITING_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "cli/input.h"

struct waiting {
	VEC(int64_t) ids; /* by number */
};

/* Takes all recordings that there are now, in order of their numbers, of which those that the input
 * chooses wait until waiting_done(). Returns how many that waited are not there any more; on
 * failure (-ENOMEM) none waits. */
int64_t waiting_look(struct waiting *waiting, const struct input *input,
		     const struct store_recording *recordings, size_t n);

/* A recording waits no more: the server has it. */
void waiting_done(struct waiting *waiting, int64_t id);

/* Says how many were deleted, if there are any. */
void waiting_report(int64_t deleted);

void waiting_free(struct waiting *waiting);

#endif
