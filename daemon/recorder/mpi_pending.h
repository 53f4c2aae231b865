/* SPDX-License-Identifier: MIT */
/*
 * MPI's receives that were posted and have not been completed (bpf/mpi_status.bpf.h). MPI tells how
 * many bytes a receive got only when the receive completes. Until then this table keeps the row of
 * the call that posted it.
 */
#ifndef RECORDER_MPI_PENDING_H
#define RECORDER_MPI_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/archive/batch.h"
#include "stackd_abi.h"

#define MPI_PENDING_MOST 65536

struct mpi_pending;

/* 0 or -ENOMEM. */
int mpi_pending_new(struct mpi_pending **ret_pending);
void mpi_pending_free(struct mpi_pending *pending); /* NULL is fine */

/* Adds the call of a thread that began at `enter_ns`. The period of its row is the size of all its
 * buffers, with the flag bits STACKD_MPI_*. 1: the table is full, or has this call; 0; -ENOMEM. */
int mpi_pending_add(struct mpi_pending *pending, uint32_t tid, uint64_t enter_ns,
		    const struct store_sample *row);

/* Takes a buffer of `posted` bytes off the call that posted it, and gives the call's row. Returns
 * whether the call is in the table, with that many bytes left. */
bool mpi_pending_take(struct mpi_pending *pending, uint32_t tid, uint64_t enter_ns, uint64_t posted,
		      struct store_sample *ret_row);

/* Removes any one call, and gives its row, whose period is what is left of its buffers. false: the
 * table is empty. */
bool mpi_pending_take_any(struct mpi_pending *pending, struct store_sample *ret_row);

/* Forgets all calls, since the numbers in their rows are not valid any more. */
void mpi_pending_clear(struct mpi_pending *pending);

#endif
