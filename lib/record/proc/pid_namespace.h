/* SPDX-License-Identifier: MIT */
/*
 * Tells whether processes have the numbers here that the kernel's samples have.
 *
 * The kernel half knows processes by their numbers in the first pid namespace, the machine's. In a
 * container with a pid namespace of its own, a process has another number in /proc, so samples
 * cannot be matched with it.
 */
#ifndef PROC_PID_NAMESPACE_H
#define PROC_PID_NAMESPACE_H

#include <stdbool.h>

#define PID_NAMESPACE_REMEDY "start the container with --pid=host, or record on the host"

/* Returns whether a /proc is of the machine's pid namespace, so that it has the kernel's numbers;
 * true where that cannot be read. */
bool pid_namespace_proc_is_first(const char *proc_root);

/* Returns whether both this process and a /proc are in the machine's pid namespace. */
bool pid_namespace_is_first(const char *proc_root);

#endif
