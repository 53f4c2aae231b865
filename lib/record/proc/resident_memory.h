/* SPDX-License-Identifier: MIT */
/*
 * Reads a process's memory without waiting for a file system. A page of a file that is not in
 * memory would be read from its file system, which a program or another host may serve, and which
 * may never answer. So this first reads from /proc/PID/pagemap which pages are in memory. Such a
 * page can still be dropped before it is read, in the microseconds between: if memory runs short at
 * that moment, or if the process or the server of its file means harm. So who must not wait passes
 * a function that reads pages which are in memory, and fetches none (memory_source.read_page).
 */
#ifndef PROC_RESIDENT_MEMORY_H
#define PROC_RESIDENT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEMORY_PAGE 4096

/* How memory is read. */
struct memory_source {
	const char *proc; /* the root of /proc */
	/* Reads a page that is in memory, without ever waiting; false: it is not. NULL: pages are
	 * read by process_vm_readv(). */
	bool (*read_page)(void *arg, pid_t pid, uint64_t address, uint8_t *bytes);
	void *arg;
};

/* Reads a whole page. Whether it is in memory is not looked at before. */
bool resident_memory_page(const struct memory_source *from, pid_t pid, uint64_t address,
			  uint8_t bytes[MEMORY_PAGE]);

/* Reads `len` bytes. Returns false if some of them are not in memory, or the process has nothing
 * mapped there, or may not be read. */
bool resident_memory_read(const struct memory_source *from, pid_t pid, uint64_t address, void *buf,
			  size_t len);

/* Reads up to the first page that is not in memory. Returns how many bytes. */
size_t resident_memory_read_some(const struct memory_source *from, pid_t pid, uint64_t address,
				 void *buf, size_t len);

/* Does the same up to the first page that is not in memory, or is that of a file or of shared
 * memory. A page of a private mapping that the process has written to is its own. */
size_t resident_memory_read_own_some(const struct memory_source *from, pid_t pid, uint64_t address,
				     void *buf, size_t len);

#endif
