/* SPDX-License-Identifier: MIT */
/*
 * Describes which arguments of MPI's functions say how much a call sends and receives (MPI 4.0,
 * chapters 3, 4, 6 and 12). From these follow the bytes that a call sends to other processes and
 * gets from them, counted once for each partner; the process itself is one if a collective sends to
 * it. The kernel half reads the arguments (bpf/mpi.bpf.h). Bytes of files have the flag bit
 * STACKD_MPI_OF_FILE, since a file is no process.
 *
 * Measured functions call each other: functions for Fortran call those for C, and functions of a
 * tool that is loaded before the library, such as mpiP, call the library's functions by their other
 * names (PMPI_Send). Only the outermost call is counted. Its arguments cannot be used if it is a
 * Fortran function, because Fortran's handles and constants differ; nor if its file is no MPI
 * library, because only the library knows the sizes of datatypes. Then its bytes are those of the
 * library's C function that it calls for the same purpose.
 */
#ifndef MPI_MPI_CALLS_H
#define MPI_MPI_CALLS_H

#include <stdint.h>

#include "stackd_abi.h"

/* Describes the function at `vaddr`, found by its C or Fortran name. `library` is the number of its
 * file in the kernel half's array of MPI libraries; 0: the array is full. */
struct stackd_mpi_call mpi_calls_find(const char *name, uint64_t vaddr, uint8_t library,
				      enum stackd_mpi_vendor vendor);

#endif
