/* SPDX-License-Identifier: MIT */
/*
 * Reads environments of processes (proc/process_environment.h) without waiting for a process.
 *
 * The kernel reads an environment out of the process's memory. A process can map a file over it, on
 * a file system that never answers (FUSE), and who reads it then waits for ever. So threads read,
 * one for each user whose processes are slow, and the caller waits for some milliseconds, and for
 * no user longer than a small share of the time. What comes later is kept for the next call. A
 * thread of which nothing has come for two seconds ends the labels of its user's processes, for as
 * long as it is stuck, and nobody else's, unless sixteen users keep one each. (As in user_shares.h,
 * 65536 users of a namespace count as one.)
 *
 * Processes of root that have stackd's mounts are read at once, since that root means no harm; a
 * container has mounts of its own, and its root may.
 */
#ifndef RECORDER_ENVIRONMENTS_H
#define RECORDER_ENVIRONMENTS_H

#include <stddef.h>
#include <sys/types.h>

struct environments;

/* `proc_root` is "/proc" but for tests, and is copied. 0 or -ENOMEM. */
int environments_new(const char *proc_root, struct environments **ret_environments);

/* Leaves threads that are stuck behind; NULL is fine. */
void environments_free(struct environments *environments);

/* Does what process_environment_read() does. -EAGAIN also means that the environment was not read
 * in time, and is to be asked for again: what is given then may be as old as the first call.
 * -ENOENT also means that it is not read, since a thread is stuck. */
int environments_read(struct environments *environments, pid_t pid, char **ret_bytes,
		      size_t *ret_size);

/* Says that a process has executed a program, or has ended: what was read of it before is not given
 * any more. */
void environments_forget(struct environments *environments, pid_t pid);

#endif
