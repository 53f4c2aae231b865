/* SPDX-License-Identifier: MIT */
/* Measures the cost of the daemon's own process: CPU time and memory. */
#ifndef DAEMON_OWN_COST_H
#define DAEMON_OWN_COST_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Returns the CPU time of all its threads. */
uint64_t own_cost_cpu_ns(void);

/* Returns the CPU time that the kernel says was used. */
uint64_t own_cost_used_ns(const struct rusage *used);

/* Returns the resident bytes; 0 if /proc cannot be read. */
uint64_t own_cost_resident_bytes(void);

/* Returns the resident bytes of a child process that are not of files; 0 if it has ended. */
uint64_t own_cost_child_bytes(pid_t pid);

#endif
