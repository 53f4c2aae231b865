/* SPDX-License-Identifier: MIT */
/*
 * Reads the memory of a process many times, without ever waiting for its file systems.
 *
 * It reads whole pages and keeps them, since what is looked for lies close together, and the same
 * is looked for in many samples. A kept page serves as long as it was read after the sample that it
 * is wanted for (process_memory_begin()), or until it is to be read anew (process_memory_renew()).
 *
 * It reads private memory without a file, as far as it is in memory, and mappings of regular files
 * on local mounts (base/mount_kind.h) and of files in memory: pages of a private mapping that the
 * process has changed from its memory, the others from the file. All others are never read, even if
 * the page is in memory just now: what they would be read from may be the process itself (FUSE,
 * userfaultfd), which need not answer.
 */
#ifndef RECORDER_PROCESS_MEMORY_H
#define RECORDER_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_source;
struct mount_lists;
struct process_memory;
struct process_page;

/* What may be read of all processes together, and the pages that were read. A zeroed struct is
 * right to begin with. */
struct process_reads {
	uint64_t now_ns;
	uint64_t taken;			    /* reads, of PROCESS_READS_BURST */
	uint64_t last_id;		    /* that a struct process_memory has got */
	struct process_page *pages;	    /* NULL: none yet */
	struct mount_lists *mounts;	    /* lists that are kept, borrowed; NULL: none */
	const struct memory_source *memory; /* borrowed; NULL: process_vm_readv() */
};

/* Frees the pages. */
void process_reads_fini(struct process_reads *reads);

/* `proc` is the root of /proc, and borrowed, as `reads` is. 0; -ENOMEM; or the -errno of open(). */
int process_memory_new(const char *proc, pid_t pid, struct process_reads *reads,
		       struct process_memory **ret_memory);
void process_memory_free(struct process_memory *memory); /* NULL is fine */

/* Says what time it is, and of which time the sample is for which memory will be read, both in
 * nanoseconds. Since the last time, as much more may be read as the time allows
 * (PROCESS_MEMORY_RATE, PROCESS_READS_RATE). Returns a time later than the sample's, if that is
 * past: all that is read from here on is of that time or later. */
uint64_t process_memory_begin(struct process_memory *memory, uint64_t now_ns, uint64_t sample_ns);

/* From here on, what was read before this call is read anew. Returns what process_memory_settle()
 * needs to allow it again. */
uint64_t process_memory_renew(struct process_memory *memory);
void process_memory_settle(struct process_memory *memory, uint64_t renewed);

#define PROCESS_MEMORY_RATE  50000 /* pages a second; a process cannot take more of the loop */
#define PROCESS_MEMORY_BURST 50000
#define PROCESS_READS_RATE   100000 /* of all processes together */
#define PROCESS_READS_BURST  100000

/* Returns whether so much was read that no more can be read before the next process_memory_begin().
 */
bool process_memory_is_spent(const struct process_memory *memory);

/* Returns how many reads have failed so far. A caller of a runtime's functions tells by it what is
 * not there from what could not be read. */
uint64_t process_memory_failed(const struct process_memory *memory);

/* Reads `len` bytes, 4096 at most. Returns false if not all of them can be read, or too much was
 * read already. A read of struct runtime_memory; `memory` is a struct process_memory. */
bool process_memory_read(void *memory, uint64_t address, void *buf, size_t len);

/* Returns 1 if the byte at an address can be read; 0: it cannot, which is no read that has failed;
 * -EAGAIN: too much was read already, and that is one. The `has` of struct runtime_memory. */
int process_memory_has(void *memory, uint64_t address);

#endif
