/* SPDX-License-Identifier: MIT */
/*
 * What must be known about a process to find the map of its JIT code (proc/perf_map.h) after its
 * end.
 *
 * Names are looked up once a second, so a process that lives for less than a second has mostly
 * ended before. A process can also end while its records wait for an unwind table. Its map is still
 * in /tmp, though. The map is used if the process saw the same /tmp as this process does, the map
 * belongs to the process's user, and it was not written before the process began, because an
 * earlier process may have had the same pid.
 */
#ifndef PROC_JIT_OWNER_H
#define PROC_JIT_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct jit_owner {
	pid_t pid;	      /* 0: nobody */
	pid_t ns_pid;	      /* the pid in its own pid namespace, by which its map is named */
	uid_t uid, euid;      /* its map must belong to one of these */
	uint64_t start_ticks; /* since boot; 0: not known */
	/* when it began, in seconds of the wall clock; an older map belongs to an earlier
	 * process */
	time_t since_s;
	bool is_near; /* The process sees the same /tmp as we do. */
};

/* Fills in a process's user, start time and /tmp from /proc. If the process has ended, it gets this
 * process's user and /tmp, and a start RECENT_S seconds ago, because stackd resolves a process's
 * mappings at most so long after its end. */
void jit_owner_find(const char *proc_root, pid_t pid, struct jit_owner *ret_owner);

/* Returns whether the pid still belongs to this process, and it has not ended. */
bool jit_owner_is_alive(const char *proc_root, const struct jit_owner *owner);

#endif
