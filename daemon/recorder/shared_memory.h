/* SPDX-License-Identifier: MIT */
/*
 * Finds out which new processes share their parent's memory: after clone(CLONE_VM), vfork() or
 * posix_spawn().
 *
 * perf's event of a fork does not say whether they do. kcmp() says it, as long as neither process
 * has called exec or has ended. So this module calls kcmp() as soon as the event has been read, and
 * keeps the answer until the event is taken in the order of time.
 */
#ifndef RECORDER_SHARED_MEMORY_H
#define RECORDER_SHARED_MEMORY_H

#include <stdbool.h>
#include <sys/types.h>

#define SHARED_MEMORY_KEPT 256 /* most answers; older ones are overwritten */

struct shared_memory { /* zeroed is empty */
	struct {
		pid_t pid, parent;
	} kept[SHARED_MEMORY_KEPT]; /* pid 0: none */
	unsigned next;
};

/* Asks the kernel whether a new process shares its parent's memory, and keeps the answer. To be
 * called as soon as the event of its fork is read, because the process may end at any moment. */
void shared_memory_prefetch(struct shared_memory *shared, pid_t pid, pid_t parent);

/* A process_shares_fn, whose argument is a struct shared_memory: returns whether a process shares
 * its parent's memory, or did so when the event of its fork was read. */
bool shared_memory_is_shared(void *shared, pid_t pid, pid_t parent);

#endif
