/* SPDX-License-Identifier: MIT */
/*
 * Requests of the process by their handles: receives that have been posted, with the path of the
 * call, and persistent requests, with their bytes. Several threads may use them at the same time. A
 * set of the table that another thread uses for long is given up: what is not kept here counts as
 * the size of its buffer.
 */
#ifndef LIBSTACKMPI_REQUEST_H
#define LIBSTACKMPI_REQUEST_H

#include "call.h"

enum request_kind {
	REQUEST_POSTED = 1,
	REQUEST_PERSISTENT,
};

struct request {
	uint64_t handle;
	uint32_t kind; /* enum request_kind; 0: the entry is free */
	uint32_t pad;
	struct stackd_calls *calls;    /* of a posted receive: the table that its path is in, */
	struct stackd_call_path *path; /* and the path of the call that has posted it */
	uint64_t received, sent;       /* bytes, with flags */
};

/* Keeps a request, in place of an earlier one with the same handle and kind. Returns whether it was
 * kept. */
bool request_keep(const struct request *request) STACKMPI_HIDDEN;

/* Finds a request, and with `takes` removes it. Returns whether it is there. */
bool request_find(uint64_t handle, enum request_kind kind, bool takes,
		  struct request *ret_request) STACKMPI_HIDDEN;

/* Finds a request, and holds it until request_release(): so long, the table of a posted receive
 * stays. Returns NULL if it is not there. */
struct request *request_hold(uint64_t handle, enum request_kind kind) STACKMPI_HIDDEN;
void request_release(struct request *held, bool removes) STACKMPI_HIDDEN;

/* Removes the posted receives of a table of this thread, which is about to go. It waits for threads
 * that hold one. */
void request_forget(const struct stackd_calls *calls) STACKMPI_HIDDEN;

/* Removes all, and all locks, for the child of a fork. */
void request_forget_all(void) STACKMPI_HIDDEN;

#endif
