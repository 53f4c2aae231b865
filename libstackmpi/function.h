/* SPDX-License-Identifier: MIT */
/*
 * MPI's functions: those that this library has (functions.h), as the next library defines them, and
 * what their arguments mean. A tool that is loaded behind this library (mpiP, say) is the next one.
 */
#ifndef LIBSTACKMPI_FUNCTION_H
#define LIBSTACKMPI_FUNCTION_H

#include "call.h"

struct function {
	const char *name;
	const void *next;   /* NULL: not found yet */
	uint32_t n_stacked; /* arguments on the stack */
	struct stackd_mpi_call call;
	bool frees_request; /* MPI_Request_free() */
};

/* Returns the function of a number; it is looked up until it is found. `next` is NULL as long as no
 * library has it. */
const struct function *function_of(uint64_t number) STACKMPI_HIDDEN;

/* Returns what to call for a function that no library has. A program may have found this library's
 * where it only asks whether MPI is there (by a weak symbol, or dlsym()): MPI_Initialized() and
 * MPI_Finalized() say no, and other functions for C return an error. */
struct call_target function_missing(const struct call *call) STACKMPI_HIDDEN;

/* The functions by which sizes are found. Handles are addresses (Open MPI) or numbers of 32 bits
 * (MPICH); both are passed alike. */
struct function_sizes {
	enum stackd_mpi_vendor vendor;
	int (*type_size)(uint64_t type, int *ret_size);
	int (*comm_size)(uint64_t comm, int *ret_size);
	int (*comm_rank)(uint64_t comm, int *ret_rank);
	int (*comm_test_inter)(uint64_t comm, int *ret_flag);
	uint64_t type_null, comm_null;
};

/* Set by the first function_of(). */
extern struct function_sizes function_sizes STACKMPI_HIDDEN;

#endif
