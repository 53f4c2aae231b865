/* SPDX-License-Identifier: MIT */
/* Finds the library that samples allocations (docs/ALLOC.md), and its probe. */
#ifndef REGIONS_ALLOC_LIBRARY_H
#define REGIONS_ALLOC_LIBRARY_H

#include <stdint.h>

#include "daemon/regions/command_files.h"

/* Finds a library (libstackalloc.so, libstackmpi.so): beside this program, or in lib/stackd/ below
 * its prefix. 0, or -ENOENT. The caller frees *ret_path. */
int alloc_library_find(const char *name, char **ret_path);

/* Gives the file offsets of a USDT probe and of its semaphore, if it has one, in the file at
 * `path`. 0; -ENOEXEC: the file has no such probe; or the -errno of opening or reading it. */
int alloc_library_probe(const char *path, const char *provider, const char *name,
			uint64_t *ret_offset, uint64_t *ret_semaphore);

/* Returns why libstackalloc cannot record a command's allocations, as the end of a sentence that
 * begins with "it"; NULL: it can, as far as the command's files show. */
const char *alloc_library_obstacle(const struct command_files *command);

#endif
