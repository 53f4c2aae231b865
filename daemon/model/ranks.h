/* SPDX-License-Identifier: MIT */
/*
 * The ranks of processes in their MPI jobs. With --mpi the kernel half sends what a program is
 * launched with (bpf/rank.bpf.h). The rank of a process that is older, or whose record was lost,
 * and of every process without --mpi, is looked up in /proc as soon as it executes a program or a
 * record of it comes: it may have ended when that is taken in the order of time. Processes that
 * have ended are forgotten.
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

/* Looks a process's rank up, unless it is known. 0 or -ENOMEM. */
int ranks_prefetch(struct ranks *ranks, pid_t pid);

/* Looks a process's rank up when the event of its exec is read, if the process has not ended. The
 * rank that it had before holds until ranks_executed(). 0 or -ENOMEM. */
int ranks_prefetch_exec(struct ranks *ranks, pid_t pid, uint64_t time_ns);

/* From now on a process has the rank that ranks_prefetch_exec() found for its exec of that moment,
 * if it found out. To be called in the order of time. 0 or -ENOMEM. */
int ranks_executed(struct ranks *ranks, pid_t pid, uint64_t time_ns);

/* A program has been executed: its rank replaces what was known of the process. To be called in the
 * order of time. 0 or -ENOMEM. */
int ranks_launched(struct ranks *ranks, const struct stackd_launched *launched);

/* Gives the rank of a process when it is asked for the first time. 1: it has one, of which
 * *ret_value is the value in SERIES_MPI_RANK; 0: it has none, or it was given; -ENOMEM. */
int ranks_take(struct ranks *ranks, uint32_t process, pid_t pid, uint64_t *ret_value);

/* The process with this id has ended: another one may get it. */
void ranks_forget(struct ranks *ranks, pid_t pid);

/* Processes have other numbers now. */
void ranks_begin_anew(struct ranks *ranks);

#endif
