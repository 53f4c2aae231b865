/* SPDX-License-Identifier: MIT */
/* What the daemon changes about its own process at the start: its limit of files, its priority. */
#ifndef DAEMON_OWN_LIMITS_H
#define DAEMON_OWN_LIMITS_H

/* Raises the limit of open files as far as the kernel allows: each object and each event takes a
 * descriptor. */
void own_limits_raise_files(void);

/* Raises the priority of the calling thread unless the user has set one. On a busy machine a daemon
 * of equal priority waits for its turn while the ring fills, above all in the first moments, when
 * samples carry whole stacks because no table is loaded yet. */
void own_limits_raise_priority(void);

#endif
