/* SPDX-License-Identifier: MIT */
/*
 * Where a library of MPI keeps the sizes of datatypes, the sizes of communicators and the ranks in
 * them, so that the kernel half can read them in programs that have long asked for them.
 *
 * The library's own code says it. MPI_Comm_rank() and MPI_Comm_size() store at their second
 * argument what they load from a communicator: the loads' displacements are the places. MPICH's
 * handles are numbers; the code that finds their objects has the addresses of the tables, and how
 * large entries are. An object of MPICH begins with its handle, which the kernel half compares. In
 * Open MPI the size of a datatype is where basic types, which are objects of the library's file,
 * have theirs.
 */
#ifndef REGIONS_MPI_LAYOUT_H
#define REGIONS_MPI_LAYOUT_H

#include "elf/elf_file.h"
#include "stackd_abi.h"

/* Finds which library's functions a file has, and what its code says; zeroed: no known one. */
struct stackd_mpi_library mpi_layout_find(const struct elf_file *file);

#endif
