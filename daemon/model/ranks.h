/* SPDX-License-Identifier: MIT */
/*
 * The ranks of processes in their MPI jobs. A process may have ended when its records are taken in
 * the order of time, so its rank is looked up as soon as a record comes.
 */
#ifndef MODEL_RANKS_H
#define MODEL_RANKS_H

#include <stdint.h>
#include <sys/types.h>

struct ranks;

/* 0 or -ENOMEM. */
int ranks_new(struct ranks **ret_ranks);
void ranks_free(struct ranks *ranks); /* NULL is fine */

/* Looks a process's rank up, unless it is known. 0 or -ENOMEM. */
int ranks_prefetch(struct ranks *ranks, pid_t pid);

/* Gives the rank of a process when it is asked for the first time. 1: it has one, of which
 * *ret_value is the value in SERIES_MPI_RANK; 0: it has none, or it was given; -ENOMEM. */
int ranks_take(struct ranks *ranks, uint32_t process, pid_t pid, uint64_t *ret_value);

/* The process with this id has ended: another one may get it. */
void ranks_forget(struct ranks *ranks, pid_t pid);

/* Processes have other numbers now. */
void ranks_begin_anew(struct ranks *ranks);

#endif
