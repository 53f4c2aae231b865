/* SPDX-License-Identifier: MIT */
/*
 * The ranks of processes in their MPI jobs. With --mpi the kernel half sends the environment's rank
 * when a program is executed (bpf/rank.bpf.h). The rank of a process that is older than the
 * recording, or whose record was lost, is read from /proc; without --mpi, every rank is. This reads
 * it as soon as the process executes a program or a record of it is read, since the process may
 * have ended when the record has its turn. Processes that have ended are forgotten.
 */
#ifndef MODEL_RANKS_H
#define MODEL_RANKS_H

#include <stdint.h>
#include <sys/types.h>

#include "stackd_abi.h"

struct ranks;

/* 0 or -ENOMEM. */
int ranks_new(struct ranks **ret_ranks);
void ranks_free(struct ranks *ranks); /* NULL is fine */

/* Reads a process's rank from /proc, unless it is known. 0 or -ENOMEM. */
int ranks_prefetch(struct ranks *ranks, pid_t pid);

/* Reads a process's rank from /proc when the event of its exec is read, unless the process has
 * ended. The rank that it had before holds until ranks_executed(). 0 or -ENOMEM. */
int ranks_prefetch_exec(struct ranks *ranks, pid_t pid, uint64_t time_ns);

/* Applies the rank that ranks_prefetch_exec() has read for the exec of that moment, if it has read
 * one. To be called in the order of time. 0 or -ENOMEM. */
int ranks_executed(struct ranks *ranks, pid_t pid, uint64_t time_ns);

/* Takes the record of an executed program: its rank replaces the process's. To be called in the
 * order of time. 0 or -ENOMEM. */
int ranks_launched(struct ranks *ranks, const struct stackd_launched *launched);

/* Gives the rank of a process, once. 1: it has one, and *ret_value is its value in SERIES_MPI_RANK;
 * 0: it has none, or was given before; -ENOMEM. */
int ranks_take(struct ranks *ranks, uint32_t process, pid_t pid, uint64_t *ret_value);

/* Forgets a process that has ended: another one may get its id. */
void ranks_forget(struct ranks *ranks, pid_t pid);

/* Begins a window, in which processes have other numbers. */
void ranks_begin_anew(struct ranks *ranks);

#endif
