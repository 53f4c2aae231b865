/* SPDX-License-Identifier: MIT */
/*
 * Which new processes share their parent's memory: clone(CLONE_VM), vfork(), posix_spawn().
 *
 * perf's event of a fork does not say so; kcmp() does, as long as neither has called exec or has
 * ended. So it is asked as soon as the event has been read, and the answer kept until the
 * event's turn in the order of time.
 */
#ifndef MODEL_SHARED_MEMORY_H
#define MODEL_SHARED_MEMORY_H

#include <stdbool.h>
#include <sys/types.h>

#define SHARED_MEMORY_KEPT 256 /* answers; older ones are asked for again */

struct shared_memory { /* zeroed is empty */
	struct {
		pid_t pid, parent;
	} kept[SHARED_MEMORY_KEPT]; /* pid 0: none */
	unsigned next;
};

/* Takes the event of a fork that has just been read. */
void shared_memory_prefetch(struct shared_memory *shared, pid_t pid, pid_t parent);

/* Whether a process shares its parent's memory, or did so when its fork was read: a
 * process_shares_fn, whose argument is a struct shared_memory. */
bool shared_memory_is_shared(void *shared, pid_t pid, pid_t parent);

#endif
