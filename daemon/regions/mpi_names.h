/* SPDX-License-Identifier: MIT */
/* Tells the functions of MPI by their names, and the libraries that have them. */
#ifndef REGIONS_MPI_NAMES_H
#define REGIONS_MPI_NAMES_H

#include <stdbool.h>

/* Returns whether a function is one of MPI's, for C (MPI_Send) or for Fortran, whose compilers
 * write mpi_send_ or mpi_send__. Its other name for tools (PMPI_Send) is at the same address; where
 * a tool has a function of its own, that one is measured, and what it calls is a part of it. */
bool mpi_names_is_function(const char *name);

/* Returns whether a file may have functions of MPI: a library by its name, or any program, which
 * can be linked statically. */
bool mpi_names_is_object(const char *path);

#endif
