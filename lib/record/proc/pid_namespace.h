/* SPDX-License-Identifier: MIT */
/*
 * Whether this process has the numbers of processes that the kernel's samples have.
 *
 * The kernel half knows processes by their numbers in the first pid namespace, the machine's. In a
 * container with a pid namespace of its own, a process has another number in /proc, so no sample
 * can be told to be of it.
 */
#ifndef PROC_PID_NAMESPACE_H
#define PROC_PID_NAMESPACE_H

#include <stdbool.h>

#define PID_NAMESPACE_REMEDY "start the container with --pid=host, or record on the host"

/* Returns whether /proc is of the machine's pid namespace; true where the kernel does not tell. */
bool pid_namespace_is_first(const char *proc_root);

#endif
