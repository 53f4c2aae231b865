/* SPDX-License-Identifier: MIT */
/* The environment that a process was executed with, from /proc. */
#ifndef PROC_PROCESS_ENVIRONMENT_H
#define PROC_PROCESS_ENVIRONMENT_H

#include <stddef.h>
#include <sys/types.h>

/* Reads /proc/PID/environ below `root`: *ret_bytes, malloc()ed, has *ret_size bytes of strings,
 * each with a NUL behind it, and a NUL at the end; a long environment is cut. Returns 0; -ENOENT:
 * it is empty; -EAGAIN: the process executes a program, whose environment the kernel has not set
 * yet; -ESRCH: there is no such process; or another -errno. */
int process_environment_read(const char *root, pid_t pid, char **ret_bytes, size_t *ret_size);

#endif
