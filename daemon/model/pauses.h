/* SPDX-License-Identifier: MIT */
/*
 * When a process may be looked at again, where a look takes as long as some hundred walks and
 * mostly finds nothing: after a pause that doubles as long as that is so.
 */
#ifndef MODEL_PAUSES_H
#define MODEL_PAUSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/int_map.h"
#include "base/vec.h"

#define PAUSES_FIRST_NS UINT64_C(20000000)
#define PAUSES_LAST_NS	UINT64_C(5000000000)

struct pause {
	uint64_t until_ns, ns, last_ns; /* the last look */
};

struct pauses {		       /* zeroed is empty */
	struct int_map by_pid; /* index */
	VEC(struct pause) items;
};

void pauses_fini(struct pauses *pauses); /* frees all, and leaves it empty */

/* Whether the pause of a process is over; `is_urgent`: or the first one would be. 1, 0 or -ENOMEM.
 */
int pauses_are_over(struct pauses *pauses, pid_t pid, uint64_t time_ns, bool is_urgent);

/* Begins the next pause of a process after a look, of which pauses_are_over() was asked; there is
 * none where something was found. */
void pauses_begin(struct pauses *pauses, pid_t pid, uint64_t time_ns, bool has_found);

#endif
