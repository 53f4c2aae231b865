/* SPDX-License-Identifier: MIT */
/*
 * Reports which process of a job was killed. Launchers then end the other processes, and some
 * launchers (MPICH's) name one of those instead. So a child does the work. Its parent reports how
 * the child has ended: it needs hardly any memory, so the kernel does not kill it when memory is
 * short.
 */
#ifndef MPI_WATCH_H
#define MPI_WATCH_H

/* Forks, before MPI is begun. Returns only in the child, which ends when its parent does. If the
 * child is killed, the parent reports that as `name` and ends by the same signal; otherwise it ends
 * with the child's status. Signals that ask the parent to end are passed to the child. If fork()
 * fails, returns without a child. */
void watch_begin(const char *name);

#endif
