/* SPDX-License-Identifier: MIT */
/* The processes of an MPI job, as lib/record/tagset/router.h wants them connected. */
#ifndef MPI_COMM_H
#define MPI_COMM_H

#include "tagset/router.h"

/* Longer messages go in pieces of this. */
#define COMM_PIECE (1 << 20)

struct comm_figures {
	uint64_t messages, bytes; /* that this process sent */
	uint64_t largest;	  /* bytes of one message */
};

struct comm {
	struct router_comm router;
	struct comm_figures figures;
};

/* Connects all processes; after MPI_Init(). Errors of MPI end the job, as is MPI's default. `comm`
 * must stay where it is. */
void comm_new(struct comm *comm);

/* Sends a buffer to a process that calls comm_receive(), in pieces. */
void comm_send(struct comm *comm, uint32_t to, const void *bytes, size_t len);

/* Receives `len` bytes of comm_send(): calls `take` for each piece. What that returns other than 0
 * is returned at once, and leaves the sender waiting. */
int comm_receive(struct comm *comm, uint32_t from, size_t len,
		 int (*take)(void *arg, const uint8_t *bytes, size_t n), void *arg);

/* Ends the job, as a process that has met an error which the others do not know of. */
_Noreturn void comm_abort(int status);

#endif
