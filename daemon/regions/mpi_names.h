/* SPDX-License-Identifier: MIT */
/* Recognises files that may have functions of MPI (sym/mpi_name.h), by their paths. */
#ifndef REGIONS_MPI_NAMES_H
#define REGIONS_MPI_NAMES_H

#include <stdbool.h>

/* Returns whether a file may have functions of MPI: a library by its name, or any program, which
 * can be linked statically. */
bool mpi_names_is_object(const char *path);

#endif
