/* SPDX-License-Identifier: MIT */
/*
 * Closes the files of objects that no process maps any more, so that a daemon's descriptors do not
 * grow with its age.
 *
 * While more files are open than `kept`, this looks through the mappings of all processes now and
 * then. A file that no process maps is closed after a grace period, in which its last locations get
 * their names. If descriptors would soon run out, it is closed at the next look already, and
 * locations that have no name by then never get one. An object keeps its number, its identity and
 * what was made from it, and its next mapping opens the file again (object_table_close()).
 *
 * Files that are a burden to others while they are open are closed however few there are, some time
 * after the last process that runs has mapped them: deleted files, whose blocks stay in use, copies
 * in memory, and files on another file system than the root folder's, which cannot be unmounted.
 * Before that, names that are still to be found in them are asked for (object_want_names()).
 */
#ifndef PROC_OPEN_FILES_H
#define PROC_OPEN_FILES_H

#include <stdint.h>

#include "proc/process.h"

struct open_files;

struct open_files_options {
	struct object_table *objects; /* borrowed, as is `processes` */
	struct process_table *processes;
	/* while no more files than this are open, none is closed, mapped or not */
	uint32_t kept;
	uint32_t most;	   /* with more open files than this, there is no grace period */
	uint64_t grace_ns; /* time without a mapping after which a file is closed */
	/* the same for deleted files, of which at most so many bytes are kept, and for files on
	 * other file systems than `root_dev`; 0: these are as others */
	uint64_t deleted_grace_ns, most_deleted_bytes, apart_grace_ns;
	uint64_t root_dev;
	uint64_t names_grace_ns;  /* most time from asking for such a file's names to closing it */
	uint64_t burden_pause_ns; /* time between two searches for these */
	uint64_t pause_ns; /* time between two searches, unless more than `most` files are open */
};

/* Copies the options. Returns 0 or -ENOMEM. */
int open_files_new(const struct open_files_options *options, struct open_files **ret_files);
void open_files_free(struct open_files *files); /* NULL is fine */

/* Closes the files whose grace period is over at `now_ns` (of CLOCK_MONOTONIC, or any clock that
 * all calls use). Does nothing if memory is short. */
void open_files_look(struct open_files *files, uint64_t now_ns);

/* Returns how many files were closed so far. */
uint64_t open_files_closed(const struct open_files *files);

#endif
