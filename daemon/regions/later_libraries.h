/* SPDX-License-Identifier: MIT */
/*
 * Finds the libraries that a program loads by name while it runs (`dlopen("libx.so")`), so that
 * they can be probed before they are mapped. Names come from specifications (FUNC@libx.so), and
 * from the program's strings (elf/library_names.h). Files are found as the loader finds them
 * (elf/elf_libraries.h).
 */
#ifndef REGIONS_LATER_LIBRARIES_H
#define REGIONS_LATER_LIBRARIES_H

#include <sys/types.h>

#include "daemon/base/options.h"
#include "daemon/regions/region_spec.h"
#include "elf/elf_file.h"

/* Returns the value that LD_LIBRARY_PATH has for the target, malloc()ed: the one that the command's
 * words set (`env LD_LIBRARY_PATH=...`), or else the one of process `pid`. NULL: it is not set, or
 * not known. */
char *later_libraries_folders(const struct options *options, pid_t pid);

/* Calls `each` with the path of each library that a program may load by name and that may have
 * functions of the specifications. A nonzero result of `each` stops the calls and is returned, else
 * 0 or -ENOMEM. */
int later_libraries_each(const struct region_spec *specs, size_t n_specs,
			 const struct elf_file *file, const char *path, const char *folders,
			 int (*each)(void *arg, const char *path), void *arg);

#endif
