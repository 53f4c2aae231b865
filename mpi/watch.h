/* SPDX-License-Identifier: MIT */
/*
 * Says which process of a job was killed. Launchers end the others then, and some (MPICH's) name
 * one of those. So the work is done by a child, and its parent, which needs next to no memory and
 * is no aim of the kernel when that is short, says how the child has ended.
 */
#ifndef MPI_WATCH_H
#define MPI_WATCH_H

/* Forks, before MPI is begun; returns in the child alone, which ends when its parent does. If the
 * child is killed, its parent says so as `name` and ends by the same signal, else with its status.
 * Signals that ask the parent to end go to the child. Without a child, because fork() fails,
 * returns as well. */
void watch_begin(const char *name);

#endif
