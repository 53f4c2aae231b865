/* SPDX-License-Identifier: MIT */
/* Compares names of files; see mpi_names.h. */
#include "daemon/regions/mpi_names.h"

#include <string.h>

bool mpi_names_is_object(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strstr(name, ".so") || strstr(name, "mpi");
}
