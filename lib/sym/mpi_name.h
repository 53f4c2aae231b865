/* SPDX-License-Identifier: MIT */
/* Tells the functions of MPI's interface by their names. */
#ifndef SYM_MPI_NAME_H
#define SYM_MPI_NAME_H

#include <stdbool.h>

/* Returns whether a function is one of MPI's, for C (MPI_Send) or for Fortran, whose compilers
 * write mpi_send_ or mpi_send__. Its other name for tools is PMPI_Send. */
bool mpi_name_is_function(const char *name);

#endif
