/* SPDX-License-Identifier: MIT */
/* The ranks of processes in their MPI jobs, as a recording has them. */
#ifndef MODEL_PROFILE_RANKS_H
#define MODEL_PROFILE_RANKS_H

#include <stdint.h>

#include "base/buf.h"
#include "model/profile.h"

/* Sets ranks[i] for each process i of the profile to the process's value of SERIES_MPI_RANK; the
 * array must be zeroed. Returns 0, or an error of store_reader_records(). */
int profile_ranks_read(struct profile *profile, uint64_t *ranks);

/* Appends a value in words: "3 of 8", "3", or "none". */
void profile_ranks_put(uint64_t value, struct buf *b);

#endif
