/* SPDX-License-Identifier: MIT */
/* Tells the functions of MPI's interface by their names. */
#ifndef SYM_MPI_NAME_H
#define SYM_MPI_NAME_H

#include <stdbool.h>

/* Returns whether a function is one of MPI's, for C (MPI_Send) or for Fortran, whose compilers
 * write mpi_send_ or mpi_send__. Its other name for tools is PMPI_Send. */
bool mpi_name_is_function(const char *name);

/* Returns whether a function is one of MPI's by the name that reports have for it, and its file. In
 * libraries of MPI that can be any of the names which its address has: MPI_SEND, mpi_send, too. */
bool mpi_name_is_call(const char *name, const char *object);

#endif
