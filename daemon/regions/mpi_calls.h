/* SPDX-License-Identifier: MIT */
/*
 * What MPI's functions send and receive, by their arguments (MPI 4.0, chapters 3, 4, 6 and 12): how
 * many bytes a call contributes to others and gets from them, each counted once for each partner,
 * itself among them where a collective has it so. The kernel half reads the arguments
 * (bpf/mpi.bpf.h). What is written to a file, or read from it, is marked as that: it is no other
 * process.
 *
 * Functions that are measured call each other: those of Fortran's interfaces call those for C, and
 * those of a tool that is loaded before the library, such as mpiP, call the library's by their
 * other names (PMPI_Send). The outermost one is counted. Its arguments tell nothing if it is
 * Fortran's, whose handles and constants are others, or if its file is no library of MPI, since the
 * sizes of datatypes are in the library: then the bytes are those of the library's function for C
 * that it calls for the same purpose.
 */
#ifndef REGIONS_MPI_CALLS_H
#define REGIONS_MPI_CALLS_H

#include <stdint.h>

#include "stackd_abi.h"

/* Returns what the function at `vaddr` does, by its name for C or for Fortran. `library` is
 * its file's number in the kernel half's array; 0: there is no room for it. */
struct stackd_mpi_call mpi_calls_find(const char *name, uint64_t vaddr, uint8_t library,
				      enum stackd_mpi_vendor vendor);

#endif
