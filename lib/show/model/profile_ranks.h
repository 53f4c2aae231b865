/* SPDX-License-Identifier: MIT */
/* The ranks of processes in their MPI jobs, as a recording has them. */
#ifndef MODEL_PROFILE_RANKS_H
#define MODEL_PROFILE_RANKS_H

#include <stdint.h>

#include "base/buf.h"
#include "model/profile.h"

/* Fills `ranks`, which has one for each process of the profile and is zeroed, with the values of
 * SERIES_MPI_RANK. 0, or an error of store_reader_records(). */
int profile_ranks_read(struct profile *profile, uint64_t *ranks);

/* Appends what a value says: "3 of 8", "3", or "none". */
void profile_ranks_put(uint64_t value, struct buf *b);

#endif
