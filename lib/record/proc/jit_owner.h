/* SPDX-License-Identifier: MIT */
/*
 * What must be known about a process to find the map of its JIT code (proc/perf_map.h) after its
 * end.
 *
 * Names are looked up once a second, so a process that lives shorter has ended by then; so may one
 * whose records waited for a table. Its map is still in /tmp, though. It is used if the process saw
 * the same files as this process does, the map's owner is the process's or root, and the map was
 * not written before the process began, since another process may have had the pid.
 */
#ifndef PROC_JIT_OWNER_H
#define PROC_JIT_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct jit_owner {
	pid_t pid;	 /* 0: nobody */
	pid_t ns_pid;	 /* the pid in its own pid namespace, which is in the name of its map */
	uid_t uid, euid; /* its map must belong to one of these, or to root */
	uint64_t start_ticks; /* since boot; 0: not known */
	/* when it began, in seconds of the wall clock; an older map is not its own */
	time_t since_s;
	bool is_near; /* It sees the same /tmp as this process. */
};

/* Fills in a process's user, start time and /tmp from /proc. If the process has ended, it gets this
 * process's user and /tmp, and the present time as its start: stackd resolves its mappings a few
 * seconds after its end at most. */
void jit_owner_find(const char *proc_root, pid_t pid, struct jit_owner *ret_owner);

/* Returns whether the process that now has the pid is still this one. */
bool jit_owner_is_alive(const char *proc_root, const struct jit_owner *owner);

#endif
