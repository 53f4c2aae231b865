/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether processes have the same pids here as in the kernel's samples.
 *
 * The kernel half sees the pids of the first pid namespace, the machine's. In a container with a
 * pid namespace of its own, a process has another pid in /proc, so samples cannot be matched with
 * it.
 */
#ifndef PROC_PID_NAMESPACE_H
#define PROC_PID_NAMESPACE_H

#include <stdbool.h>

#define PID_NAMESPACE_REMEDY "start the container with --pid=host, or record on the host"

/* Returns whether a /proc shows the machine's pid namespace, so that its pids are the kernel's;
 * true if that cannot be read. */
bool pid_namespace_proc_is_first(const char *proc_root);

/* Returns whether both this process and a /proc are in the machine's pid namespace. */
bool pid_namespace_is_first(const char *proc_root);

#endif
