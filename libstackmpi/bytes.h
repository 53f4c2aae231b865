/* SPDX-License-Identifier: MIT */
/*
 * The bytes that a call of MPI sends and receives, from its arguments: the same rules as the kernel
 * half's for probes (mpi/mpi_calls.h, bpf/mpi.bpf.h), but the library itself is asked for the sizes
 * of datatypes and communicators. Arguments are read before MPI has checked them: what is no
 * address or no handle at all is left to MPI.
 */
#ifndef LIBSTACKMPI_BYTES_H
#define LIBSTACKMPI_BYTES_H

#include "function.h"

/* At the entry: sets call->sent and call->received, with flags, and notes the requests that the
 * call may complete. */
void bytes_enter(struct call *call) STACKMPI_HIDDEN;

/* At the entry of a function that frees a request, whose handle may be used again. */
void bytes_forget(const struct call *call) STACKMPI_HIDDEN;

/* At the return, with a path or without: reads statuses, and keeps and completes requests. A call
 * that has returned an error sends and receives nothing, and completes no request. */
void bytes_leave(struct call *call, int result) STACKMPI_HIDDEN;

/* Returns whether the bytes that a call of the function receives are known only later, by another
 * call. */
bool bytes_are_later(const struct function *function) STACKMPI_HIDDEN;

/* Adds call->sent and call->received to the path's sums. */
void bytes_add(struct call *call) STACKMPI_HIDDEN;

/* When the path of a call is known: notes it for the receives that are not complete. Without a
 * path, and where that is not possible, they count as the size of the buffer. */
void bytes_await(struct call *call) STACKMPI_HIDDEN;

#endif
