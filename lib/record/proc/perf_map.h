/* SPDX-License-Identifier: MIT */
/*
 * /tmp/perf-PID.map: the names that a JIT compiler gives to its code, one line each: start and size
 * in hexadecimal, then the name. Where lines of different names overlap, none is taken, since they
 * do not say when. The file belongs to the profiled process: lines that make no sense are skipped
 * and counted, and only the first 256 MiB are read. The file is opened below the process's own
 * root, by the pid that the process has in its namespace (NStgid), and only if it belongs to the
 * process's user and has no second name (base/named_file.h). After the process's end it is opened
 * below this process's root, if that was the process's root too (proc/jit_owner.h).
 */
#ifndef PROC_PERF_MAP_H
#define PROC_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/jit_owner.h"

struct perf_map;

/* Reads a process's map. Returns 0; -ENOENT (there is none), -EACCES (the file is not the process's
 * own), -ENOMEM, -EIO. */
int perf_map_load(const char *proc_root, const struct jit_owner *owner, struct perf_map **ret_map);

/* First step of perf_map_load(): opens the map. Returns a descriptor, which the caller owns, or an
 * error as above. */
int perf_map_open(const char *proc_root, const struct jit_owner *owner);

/* Second step of perf_map_load(): reads an open map. Returns 0, -ENOMEM or -EIO. */
int perf_map_read(int fd, struct perf_map **ret_map);
void perf_map_free(struct perf_map *map);

/* Returns the name of the code at an address, borrowed from the map, or NULL. */
const char *perf_map_find(const struct perf_map *map, uint64_t address, uint64_t *ret_start);

/* Returns the number of lines that were skipped because they make no sense. */
uint64_t perf_map_skipped_lines(const struct perf_map *map);

#endif
