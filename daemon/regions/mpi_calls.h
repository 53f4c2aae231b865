/* SPDX-License-Identifier: MIT */
/*
 * Finds what MPI's functions send and receive, by their arguments (MPI 4.0, chapters 3, 4, 6 and
 * 12): how many bytes a call sends to other processes and gets from them, counted once for each
 * partner, including itself where a collective does so. The kernel half reads the arguments
 * (bpf/mpi.bpf.h). Bytes of a file have a mark of their own: a file is no other process.
 *
 * Measured functions call each other: those of Fortran's interfaces call those for C, and those of
 * a tool that is loaded before the library, such as mpiP, call the library's by their other names
 * (PMPI_Send). Only the outermost call is counted. Its arguments cannot be used if it is Fortran's,
 * whose handles and constants differ, or if its file is no library of MPI, since the library holds
 * the sizes of datatypes. Then the bytes are those of the library's function for C that it calls
 * for the same purpose.
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
