/* SPDX-License-Identifier: MIT */
/* The library that samples allocations (docs/ALLOC.md): where it is installed, and its probe. */
#ifndef REGIONS_ALLOC_LIBRARY_H
#define REGIONS_ALLOC_LIBRARY_H

#include <stdint.h>

#include "daemon/regions/command_files.h"

/* Finds libstackalloc.so: beside this program, or in lib/stackd/ below its prefix. 0, or -ENOENT.
 * The caller frees *ret_path. */
int alloc_library_find(char **ret_path);

/* Gives where the probe otel_memory:NAME is in the file, and its semaphore. 0; -ENOEXEC: it has
 * none; or -errno of opening or reading it. */
int alloc_library_probe(const char *path, const char *name, uint64_t *ret_offset,
			uint64_t *ret_semaphore);

/* Why the library has no part in a command, as the end of a sentence that begins with "it"; NULL:
 * it has, as far as its files tell. */
const char *alloc_library_obstacle(const struct command_files *command);

#endif
