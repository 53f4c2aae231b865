/* SPDX-License-Identifier: MIT */
/*
 * Reads the memory of a process many times, without ever waiting for its file systems.
 *
 * A page that is in memory is read at once. The pages of a file that are not, such as names in a
 * library's read-only data, are read only if the file is on a local mount (base/mount_kind.h). All
 * other pages are not read: what they would be read from may be the process itself.
 */
#ifndef RECORDER_PROCESS_MEMORY_H
#define RECORDER_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_memory;

/* `proc` is the root of /proc, and borrowed. 0; -ENOMEM; or the -errno of open(). */
int process_memory_new(const char *proc, pid_t pid, struct process_memory **ret_memory);
void process_memory_free(struct process_memory *memory); /* NULL is fine */

/* Says what time it is, in nanoseconds. From here on, pages are looked for anew; and since then as
 * much more may be read as the time allows (PROCESS_MEMORY_RATE). */
void process_memory_begin(struct process_memory *memory, uint64_t now_ns);

#define PROCESS_MEMORY_RATE  50000 /* reads a second; a process cannot take more of the loop */
#define PROCESS_MEMORY_BURST 50000

/* Returns whether so much was read that no more can be read before the next process_memory_begin().
 */
bool process_memory_is_spent(const struct process_memory *memory);

/* Reads `len` bytes, 4096 at most. Returns false if not all of them can be read, or too much was
 * read. A read of struct runtime_memory; `memory` is a struct process_memory. */
bool process_memory_read(void *memory, uint64_t address, void *buf, size_t len);

#endif
