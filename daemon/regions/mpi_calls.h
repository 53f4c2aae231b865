/* SPDX-License-Identifier: MIT */
/*
 * What MPI's functions send and receive, by their arguments (MPI 4.0, chapters 3, 4, 6 and 12): how
 * many bytes a call contributes to others and gets from them, each counted once for each partner,
 * itself among them where a collective has it so. The kernel half reads the arguments
 * (bpf/mpi.bpf.h). What a file is read from, or written to, is no other process.
 */
#ifndef REGIONS_MPI_CALLS_H
#define REGIONS_MPI_CALLS_H

#include <stdint.h>

#include "stackd_abi.h"

/* Returns what the function at `vaddr` does, by its name for C or for Fortran. A function of
 * Fortran's interface calls the one for C, whose arguments tell. `library` is its file's number in
 * the kernel half's array; 0: there is no room for it. */
struct stackd_mpi_call mpi_calls_find(const char *name, uint64_t vaddr, uint8_t library,
				      enum stackd_mpi_vendor vendor);

#endif
