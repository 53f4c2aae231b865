/* SPDX-License-Identifier: MIT */
/*
 * Finds where a library of MPI keeps the sizes of datatypes, the sizes of communicators and the
 * ranks in them, so that the kernel half can read them even if the program called MPI_Comm_rank()
 * and its like before the recording began.
 *
 * The library's own code shows where. MPI_Comm_rank() and MPI_Comm_size() store, at the address
 * that is their second argument, a word that they load from a communicator. So the displacements of
 * these loads are the offsets of rank and size in a communicator. MPICH's handles are numbers; the
 * code that looks up their objects has the addresses of the tables and the sizes of entries. An
 * object of MPICH begins with its handle, which the kernel half compares. In Open MPI all datatypes
 * have their size at the same offset as the basic types, which are objects in the library's file.
 */
#ifndef REGIONS_MPI_LAYOUT_H
#define REGIONS_MPI_LAYOUT_H

#include "elf/elf_file.h"
#include "stackd_abi.h"

/* Finds which MPI library a file is, and the layout of its objects; zeroed: no known library. */
struct stackd_mpi_library mpi_layout_find(const struct elf_file *file);

#endif
