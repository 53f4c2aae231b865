/* SPDX-License-Identifier: MIT */
/*
 * Closes the files of objects that no process maps any more, so that a daemon's descriptors do not
 * grow with its age.
 *
 * When more files are open than may be kept, this looks through the mappings of all processes now
 * and then. It closes a file that none of them holds after a grace period, in which its last
 * locations are named; or at the next look, if descriptors would soon run out: locations without a
 * name then stay so. An object keeps its number, its identity and what was made from it, and its
 * next mapping opens the file again (object_table_close()).
 */
#ifndef PROC_OPEN_FILES_H
#define PROC_OPEN_FILES_H

#include <stdint.h>

#include "proc/process.h"

struct open_files;

struct open_files_options {
	struct object_table *objects; /* borrowed, as is `processes` */
	struct process_table *processes;
	/* with no more open files than this, none is closed, mapped or not */
	uint32_t kept;
	uint32_t most;	   /* with more open files than this, there is no grace period */
	uint64_t grace_ns; /* time without a mapping after which a file is closed */
	uint64_t pause_ns; /* between looks, unless there are more than `most` */
};

/* Copies the options. Returns 0 or -ENOMEM. */
int open_files_new(const struct open_files_options *options, struct open_files **ret_files);
void open_files_free(struct open_files *files); /* NULL is fine */

/* Closes the files whose grace period is over at `now_ns` (of a monotonic clock). Does nothing if
 * memory is short. */
void open_files_look(struct open_files *files, uint64_t now_ns);

/* Returns how many files were closed so far. */
uint64_t open_files_closed(const struct open_files *files);

#endif
