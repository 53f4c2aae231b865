/* SPDX-License-Identifier: MIT */
/* See mpi_name.h. */
#include "sym/mpi_name.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_c(const char *name)
{
	return strncmp(name, "MPI_", 4) == 0 && isupper((unsigned char)name[4]) &&
	       islower((unsigned char)name[5]);
}

static bool is_fortran(const char *name)
{
	size_t len = strlen(name);

	if (strncmp(name, "mpi_", 4) != 0 || len < 6 || name[len - 1] != '_')
		return false;
	for (const char *at = name; *at; at++) {
		if (!islower((unsigned char)*at) && !isdigit((unsigned char)*at) && *at != '_')
			return false;
	}
	return true;
}

bool mpi_name_is_function(const char *name)
{
	return is_c(name) || is_fortran(name);
}

bool mpi_name_is_call(const char *name, const char *object)
{
	const char *slash = strrchr(object, '/'), *file = slash ? slash + 1 : object;
	const char *plain = *name == 'P' || *name == 'p' ? name + 1 : name;

	if (mpi_name_is_function(plain))
		return true;
	return strstr(file, ".so") && strstr(file, "mpi") && !strncasecmp(plain, "mpi_", 4) &&
	       isalpha((unsigned char)plain[4]);
}
