/* SPDX-License-Identifier: MIT */
/*
 * Libraries that a program loads by name while it runs (`dlopen("libx.so")`): which files these
 * will be, so that they can be probed before they are mapped. Names are those of specifications
 * (FUNC@libx.so), and those that the program's strings have (elf/library_names.h). Files are found
 * as the loader finds them (elf/elf_libraries.h).
 */
#ifndef REGIONS_LATER_LIBRARIES_H
#define REGIONS_LATER_LIBRARIES_H

#include <sys/types.h>

#include "daemon/base/options.h"
#include "daemon/regions/region_spec.h"
#include "elf/elf_file.h"

/* Returns what LD_LIBRARY_PATH is in a command, whose words may set it (`env LD_LIBRARY_PATH=...`),
 * or in a process, for free(); NULL: it is not set, or nothing is known of it. */
char *later_libraries_folders(const struct options *options, pid_t pid);

/* Calls `each` for the path of each such library of a program that functions of specifications may
 * be in. A nonzero result of `each` stops the calls and is returned, else 0 or -ENOMEM. */
int later_libraries_each(const struct region_spec *specs, size_t n_specs,
			 const struct elf_file *file, const char *path, const char *folders,
			 int (*each)(void *arg, const char *path), void *arg);

#endif
