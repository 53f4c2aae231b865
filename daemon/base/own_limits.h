/* SPDX-License-Identifier: MIT */
/* Raises, at the start, the daemon's own limits of open files and of locked memory, and its
 * priority. */
#ifndef DAEMON_OWN_LIMITS_H
#define DAEMON_OWN_LIMITS_H

#include <stdbool.h>

/* Raises the limit of open files as far as the kernel allows, because each object and each event
 * takes a descriptor. */
void own_limits_raise_files(void);

/* Raises the limit of locked memory as far as the kernel allows: the rings of perf events count in
 * it. To be called while stackd has the right to (CAP_SYS_RESOURCE). */
void own_limits_raise_locked_memory(void);

/* Raises the priority of the calling thread unless the user has set one. On a busy machine, a
 * daemon of normal priority would wait for a CPU while the ring fills, most of all in the first
 * moments, when samples carry whole stacks because no recipe table is loaded yet. */
void own_limits_raise_priority(void);

/* Gives the calling thread real-time priority, before all normal threads of the machine
 * (`hurries`), or takes it away again. Only used while stackd starts, because beside thousands of
 * running threads even a raised nice value gives a thousandth of a CPU. Threads and processes that
 * the thread starts do not inherit the priority. Does nothing if stackd may not set it. */
void own_limits_hurry(bool hurries);

#endif
