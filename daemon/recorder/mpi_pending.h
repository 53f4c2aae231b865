/* SPDX-License-Identifier: MIT */
/*
 * Keeps MPI's receives that were posted (by MPI_Irecv(), say) and have not been completed
 * (bpf/mpi_status.bpf.h). How many bytes a receive has got is known only when it completes. Until
 * then this table keeps the row of the call that posted it.
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

/* Adds a call by which a thread has posted receives; it began at `enter_ns`. The period of `row` is
 * the size of all its buffers, with the flag bits STACKD_MPI_*. 0; 1: the call was not added, since
 * the table is full or has it already; -ENOMEM. */
int mpi_pending_add(struct mpi_pending *pending, uint32_t tid, uint64_t enter_ns,
		    const struct store_sample *row);

/* Notes that a receive is complete whose buffer had `posted` bytes: subtracts them from those of
 * the call that posted it, and gives the call's row. Removes a call with no bytes left. false: the
 * table does not have the call, or fewer bytes are left of it. */
bool mpi_pending_take(struct mpi_pending *pending, uint32_t tid, uint64_t enter_ns, uint64_t posted,
		      struct store_sample *ret_row);

/* Removes any call, and gives its row, whose period is the bytes of its buffers that were not
 * completed. false: the table is empty. */
bool mpi_pending_take_any(struct mpi_pending *pending, struct store_sample *ret_row);

/* Forgets all calls. To be called when a window of the recording ends, since the numbers in their
 * rows are not valid any more. */
void mpi_pending_clear(struct mpi_pending *pending);

#endif
