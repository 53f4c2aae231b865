/* SPDX-License-Identifier: MIT */
/* What the daemon's own process takes: processor time and memory. */
#ifndef DAEMON_OWN_COST_H
#define DAEMON_OWN_COST_H

#include <stdint.h>
#include <sys/types.h>

/* Returns the processor time of all its threads. */
uint64_t own_cost_cpu_ns(void);

/* Returns the bytes that are resident; 0 if /proc does not tell. */
uint64_t own_cost_resident_bytes(void);

/* Bytes of a child process's memory that are resident and no file's: 0 if it has ended. */
uint64_t own_cost_child_bytes(pid_t pid);

#endif
