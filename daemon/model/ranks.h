/* SPDX-License-Identifier: MIT */
/* Whose rank in an MPI job has been looked up: that of each process, once in a recording. */
#ifndef MODEL_RANKS_H
#define MODEL_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ranks;

/* 0 or -ENOMEM. */
int ranks_new(struct ranks **ret_ranks);
void ranks_free(struct ranks *ranks); /* NULL is fine */

/* Looks a process's rank up, unless that was done. 1: it has one, of which *ret_value is the value
 * in SERIES_MPI_RANK; 0: it has none, or was looked up; -ENOMEM. */
int ranks_look(struct ranks *ranks, uint32_t process, pid_t pid, uint64_t *ret_value);

/* Forgets all: processes have other numbers now. */
void ranks_begin_anew(struct ranks *ranks);

#endif
