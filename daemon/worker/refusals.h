/* SPDX-License-Identifier: MIT */
/*
 * Files that workers are not given, since a worker failed while it read them. A refusal ends after
 * a while: the cause may have been the machine's, and a file may have been exchanged. If the file
 * fails again soon, it is refused for twice as long as the time before, a day at most. "Soon" is
 * within the time for which it was refused last, counted from the end of that refusal.
 *
 * A worker that somebody else has killed, as the kernel does when memory is short, says little
 * about the file. Only a second such death over the same file within an hour makes it refused.
 */
#ifndef WORKER_REFUSALS_H
#define WORKER_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define REFUSALS_MOST	    4096		     /* files; the one that ends first makes room */
#define REFUSALS_FIRST_NS   UINT64_C(600000000000)   /* how long a file is refused first */
#define REFUSALS_STUCK_NS   UINT64_C(60000000000)    /* the same, if its disk did not answer */
#define REFUSALS_LONGEST_NS UINT64_C(86400000000000) /* a day */
#define REFUSALS_KILL_NS    UINT64_C(3600000000000)  /* between two deaths that count together */

struct refusals { /* A zeroed struct is empty. refusals_fini() frees its memory. */
	VEC(struct refusal {
		uint64_t key;	    /* of a file */
		uint64_t until_ns;  /* it is refused until then; 0: it was not */
		uint64_t lasts_ns;  /* how long it was refused the last time; 0: never */
		uint64_t killed_ns; /* when a worker was killed over it; 0: never */
	})
	all;
};

/* Returns whether a file is refused at `now_ns`. */
bool refusals_has(const struct refusals *refusals, uint64_t key, uint64_t now_ns);

/* Refuses a file, for `first_ns` if it was not refused before. false: another one was forgotten to
 * make room, or memory is short, and the file is not refused. */
bool refusals_add(struct refusals *refusals, uint64_t key, uint64_t first_ns, uint64_t now_ns);

/* Notes that a worker was killed by somebody else while it read a file. Returns whether that is the
 * second time within REFUSALS_KILL_NS, so that the caller refuses the file. */
bool refusals_killed(struct refusals *refusals, uint64_t key, uint64_t now_ns);

/* Frees the memory, and leaves an empty set. */
void refusals_fini(struct refusals *refusals);

#endif
