/* SPDX-License-Identifier: MIT */
/*
 * Reads a process's memory without waiting for a file system. A page of a file that is not in
 * memory would be read from its file system, which a program or another host may serve, and which
 * may never answer. So this first reads from /proc/PID/pagemap which pages are in memory. Such a
 * page can still be dropped before it is read, in the microseconds between: if memory runs short
 * at that moment, or if the process or the server of its file means harm. Memory that is known to
 * be without a file is read by resident_memory_read_own_some(), which reads no page of a file.
 */
#ifndef PROC_RESIDENT_MEMORY_H
#define PROC_RESIDENT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads `len` bytes; `proc` is the root of /proc. Returns false if some of them are not in memory,
 * or the process has nothing mapped there, or may not be read. */
bool resident_memory_read(const char *proc, pid_t pid, uint64_t address, void *buf, size_t len);

/* Reads up to the first page that is not in memory. Returns how many bytes. */
size_t resident_memory_read_some(const char *proc, pid_t pid, uint64_t address, void *buf,
				 size_t len);

/* Does the same up to the first page that is not in memory, or is that of a file or of shared
 * memory. A page of a private mapping that the process has written to is its own. */
size_t resident_memory_read_own_some(const char *proc, pid_t pid, uint64_t address, void *buf,
				     size_t len);

#endif
