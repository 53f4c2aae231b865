/* SPDX-License-Identifier: MIT */
/* Connects the processes of an MPI job for lib/record/tagset/router.h. */
#ifndef MPI_COMM_H
#define MPI_COMM_H

#include "tagset/router.h"

/* Bytes of a piece; longer messages are sent in pieces. */
#define COMM_PIECE (1 << 20)

struct comm_figures {
	uint64_t messages, bytes; /* that this process sent */
	uint64_t largest;	  /* largest message in bytes */
};

struct comm {
	struct router_comm router;
	struct comm_figures figures;
};

/* Connects all processes; call it after MPI_Init(). Errors of MPI end the job, as by MPI's default.
 * `comm` must not be moved. */
void comm_new(struct comm *comm);

/* Sends a buffer to a process that calls comm_receive(), in pieces. */
void comm_send(struct comm *comm, uint32_t to, const void *bytes, size_t len);

/* Receives `len` bytes of comm_send(), and calls `take` for each piece. If that returns anything
 * but 0, returns it at once, while the sender still waits. */
int comm_receive(struct comm *comm, uint32_t from, size_t len,
		 int (*take)(void *arg, const uint8_t *bytes, size_t n), void *arg);

/* Ends the job when a process has met an error of which the other processes do not know. */
_Noreturn void comm_abort(int status);

#endif
