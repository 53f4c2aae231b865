/* SPDX-License-Identifier: MIT */
/* Recognises functions of MPI's interface by their names. */
#ifndef SYM_MPI_NAME_H
#define SYM_MPI_NAME_H

#include <stdbool.h>

/* Returns whether the name is that of an MPI function: for C (MPI_Send) or for Fortran, whose
 * compilers write mpi_send_ or mpi_send__. PMPI_Send, the name by which profiling tools call it,
 * does not count. */
bool mpi_name_is_function(const char *name);

/* Returns whether a function is MPI's, by its name in reports and the file (`object`) that contains
 * it. An address in a library of MPI can have several names, and reports may have any of them: also
 * PMPI_Send, MPI_SEND and mpi_send. */
bool mpi_name_is_call(const char *name, const char *object);

#endif
