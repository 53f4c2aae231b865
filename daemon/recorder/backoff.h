/* SPDX-License-Identifier: MIT */
/*
 * Decides when to search a process's memory or mappings again. Such a look takes as long as some
 * hundred walks, and mostly finds nothing. So there is a pause after each look that has found
 * nothing, twice as long as the one before.
 */
#ifndef RECORDER_BACKOFF_H
#define RECORDER_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/int_map.h"
#include "base/vec.h"

#define BACKOFF_FIRST_NS UINT64_C(20000000)
#define BACKOFF_LAST_NS	 UINT64_C(5000000000)

struct pause {
	uint64_t until_ns, ns, last_ns; /* the last look */
};

struct backoff {	       /* zeroed is empty */
	struct int_map by_pid; /* index */
	VEC(struct pause) items;
};

void backoff_fini(struct backoff *backoff); /* frees all, and leaves it empty */

/* Returns 1 if a process may be looked at now, because its pause is over or, with `is_urgent`,
 * because BACKOFF_FIRST_NS have passed since the last look; 0 if it may not; -ENOMEM. */
int backoff_are_over(struct backoff *backoff, pid_t pid, uint64_t time_ns, bool is_urgent);

/* To be called after a look at a process that backoff_are_over() has allowed. Begins the process's
 * next pause; or ends its pauses, if the look has found something. */
void backoff_begin(struct backoff *backoff, pid_t pid, uint64_t time_ns, bool has_found);

#endif
