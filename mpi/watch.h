/* SPDX-License-Identifier: MIT */
/*
 * Reports which process of a job was killed. Launchers end the other processes then, and some
 * (MPICH's) name one of these instead. So a child does the work. Its parent, which needs next to no
 * memory and so is no target of the kernel when memory is short, reports how the child has ended.
 */
#ifndef MPI_WATCH_H
#define MPI_WATCH_H

/* Forks, before MPI is begun. Returns only in the child, which ends when its parent does. If the
 * child is killed, its parent reports that as `name` and ends by the same signal, else with the
 * child's status. Signals that ask the parent to end are passed to the child. If fork() fails,
 * returns without a child. */
void watch_begin(const char *name);

#endif
