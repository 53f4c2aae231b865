/* SPDX-License-Identifier: MIT */
/* CPU time as the kernel adds it up, which the sum of the samples is compared with. */
#ifndef DAEMON_SCHEDULER_TIME_H
#define DAEMON_SCHEDULER_TIME_H

#include <stdint.h>

/* Returns the nanoseconds that a virtual machine's host has taken from all CPUs, since boot; 0: it
 * does not say, or there is none. */
uint64_t scheduler_time_stolen(void);

/* Returns the nanoseconds that the tasks of a cgroup have used, and those of the groups within it,
 * by the descriptor of its folder; 0: not known, as of the root, and of cgroups of version 1. */
uint64_t scheduler_time_of_cgroup(int fd);

#endif
