/* SPDX-License-Identifier: MIT */
/*
 * What MPI's functions send and receive, by their arguments (MPI 4.0, chapters 3 and 6): how many
 * bytes a call contributes to others and gets from them, each counted once for each partner, itself
 * among them where a collective has it so. The kernel half reads the arguments (bpf/mpi.bpf.h).
 *
 * The size of a datatype is what the library knows of it. Open MPI's handles are addresses of
 * structures that have it; where in them is found by types whose size is known. Those of MPICH and
 * its relatives have the size of a basic type within the handle; that of a derived one cannot be
 * told.
 */
#ifndef REGIONS_MPI_CALLS_H
#define REGIONS_MPI_CALLS_H

#include "elf/elf_file.h"
#include "stackd_abi.h"

/* How datatypes of a file's library are read; zeroed: not at all, so bytes are not known. */
struct mpi_library {
	enum stackd_mpi_library kind;
	uint8_t size_offset; /* of STACKD_MPI_OPEN: in the structure */
};

/* Finds which library's functions a file has. */
struct mpi_library mpi_calls_library(const struct elf_file *file);

/* Returns what a function, by its name for C or for Fortran, does. A function of Fortran's
 * interface calls the one for C, whose arguments tell. */
struct stackd_mpi_call mpi_calls_find(const struct mpi_library *library, const char *name);

#endif
