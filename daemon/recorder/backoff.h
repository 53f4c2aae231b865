/* SPDX-License-Identifier: MIT */
/*
 * Decides when to look at a process again, where a look takes as long as some hundred walks and
 * mostly finds nothing: after a pause, which doubles with each look that finds nothing.
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

/* Returns whether a process may be looked at again: its pause is over or, if `is_urgent`,
 * BACKOFF_FIRST_NS have passed since the last look. 1, 0 or -ENOMEM. */
int backoff_are_over(struct backoff *backoff, pid_t pid, uint64_t time_ns, bool is_urgent);

/* Begins the next pause of a process after a look that backoff_are_over() has allowed. If the look
 * has found something, there is no pause. */
void backoff_begin(struct backoff *backoff, pid_t pid, uint64_t time_ns, bool has_found);

#endif
