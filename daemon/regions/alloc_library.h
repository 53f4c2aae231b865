/* SPDX-License-Identifier: MIT */
/* Finds the library that samples allocations (docs/ALLOC.md), and its probe. */
#ifndef REGIONS_ALLOC_LIBRARY_H
#define REGIONS_ALLOC_LIBRARY_H

#include <stdint.h>

#include "daemon/regions/command_files.h"

/* Finds libstackalloc.so: beside this program, or in lib/stackd/ below its prefix. 0, or -ENOENT.
 * The caller frees *ret_path. */
int alloc_library_find(char **ret_path);

/* Gives the offsets of the probe otel_memory:NAME in the file, and of its semaphore. 0; -ENOEXEC:
 * it has none; or -errno of opening or reading it. */
int alloc_library_probe(const char *path, const char *name, uint64_t *ret_offset,
			uint64_t *ret_semaphore);

/* Returns why the library cannot record a command's allocations, as the end of a sentence that
 * begins with "it"; NULL: it can, as far as the command's files show. */
const char *alloc_library_obstacle(const struct command_files *command);

#endif
