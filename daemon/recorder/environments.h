/* SPDX-License-Identifier: MIT */
/*
 * Reads environments of processes (proc/process_environment.h) without waiting for a process.
 *
 * The kernel reads an environment out of the process's memory. A process can map a file over it, on
 * a file system that never answers (FUSE), and who reads it then waits for ever. So a thread reads,
 * and the caller waits for it for some milliseconds. A thread that is stuck is left behind, and
 * another one is started; for as long as it is stuck, nothing is read of its process's user. Few
 * threads can be stuck at a time. Root's processes are read at once, since root means no harm.
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
 * in time, and is to be asked for again; -ENOENT also that it is not read, since another process of
 * the same user keeps a thread stuck. */
int environments_read(struct environments *environments, pid_t pid, char **ret_bytes,
		      size_t *ret_size);

#endif
