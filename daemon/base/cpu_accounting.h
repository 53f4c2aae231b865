/* SPDX-License-Identifier: MIT */
/* Reads CPU time as the kernel counts it, for comparison with the sum of the samples. */
#ifndef DAEMON_CPU_ACCOUNTING_H
#define DAEMON_CPU_ACCOUNTING_H

#include <stdint.h>

/* Returns the nanoseconds that a virtual machine's host has taken from all CPUs, since boot; 0: the
 * host does not report them, or the machine is not virtual. */
uint64_t cpu_accounting_stolen(void);

/* Returns the nanoseconds that the tasks of a cgroup and of the groups within it have used, by the
 * descriptor of its folder; 0: not known, as for the root, and for cgroups of version 1. */
uint64_t cpu_accounting_of_cgroup(int fd);

#endif
