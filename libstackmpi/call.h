/* SPDX-License-Identifier: MIT */
/*
 * A call of MPI, from the entry of one of this library's functions to its return. The entry
 * (arch/NAME/mpi_entry.S) makes the struct on its stack.
 *
 *   entry ──► call_enter()   path.c: have the words on the stack a path that is known?
 *     │                      bytes.c: what do the arguments say that is sent and received?
 *     ├─────► MPI's function
 *     └────► call_leave()    adds the call to the sums of its path; without a path, lets the kernel
 *                            half walk (call_probe())
 *
 * A function of MPI that MPI calls itself is a part of the call, and goes straight to MPI's. But if
 * the call is of a function for Fortran, whose handles and constants differ, its bytes are those of
 * the function for C that it calls for the same purpose.
 */
#ifndef LIBSTACKMPI_CALL_H
#define LIBSTACKMPI_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "stackd_abi.h"

#define STACKMPI_HIDDEN __attribute__((visibility("hidden")))

#define CALL_ARGUMENTS 6 /* in registers */

struct function;

struct call {
	/* Filled in by the entry: */
	uint64_t kept[STACKD_SAVED_COUNT]; /* the registers STACKD_SAVED_REGS of the caller */
	uint64_t arguments[CALL_ARGUMENTS];
	const uint64_t *slot; /* where the return address is, behind which are further arguments */
	uint64_t number;      /* of the function */

	struct stackd_calls *calls;    /* the thread's table; NULL: this call is not counted */
	struct stackd_call_path *path; /* NULL: its path is not known */
	uint64_t begin_ns, begin_cpu;
	uint64_t sent, received; /* as in struct stackd_pass, with STACKD_MPI_LATER */
	const struct function *function;
	bool tells_bytes; /* it is within a call of a function for Fortran, and tells its bytes */
};

_Static_assert(sizeof(struct call) <= 240, "the entry has room for it");
_Static_assert(__builtin_offsetof(struct call, arguments) == 8 * STACKD_SAVED_COUNT &&
		       __builtin_offsetof(struct call, slot) ==
			       8 * (STACKD_SAVED_COUNT + CALL_ARGUMENTS) &&
		       __builtin_offsetof(struct call, number) ==
			       8 * (STACKD_SAVED_COUNT + CALL_ARGUMENTS + 1),
	       "the entry fills it in");

/* What the entry calls: a function, with so many words of arguments on the stack. */
struct call_target {
	const void *function;
	uint64_t n_stacked;
};

struct call_target call_enter(struct call *call) STACKMPI_HIDDEN;
/* `result` is what a function for C has returned: 0, or an error. */
void call_leave(struct call *call, int result) STACKMPI_HIDDEN;

/* Does nothing, but stackd has a probe on it. */
void call_probe(const struct stackd_call_probe *probe) STACKMPI_HIDDEN;

/* Returns an argument by its number, from 1. */
static inline uint64_t call_argument(const struct call *call, unsigned number)
{
	return number <= CALL_ARGUMENTS ? call->arguments[number - 1]
					: call->slot[number - CALL_ARGUMENTS];
}

#endif
