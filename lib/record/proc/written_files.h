/* SPDX-License-Identifier: MIT */
/*
 * Detects writes to files while processes have them mapped as code.
 *
 * The process then runs what the file has now, though its mapping is unchanged, so frames in it
 * would get the names of code that is gone. The kernel reports writes (inotify), but not when they
 * happened. So it is unknown which code was hit by samples between the last look that found no
 * write and the look that found one:
 *
 *   look ─────── write ─────── look            samples ──► time
 *     │      of either code     │    of the file's present code
 *     └──────── not proven ─────┘
 *
 * Frames of that time belong neither to the file's old object nor to its new one, but to a third
 * object that stands for both and has no names. At the second look, the kernel half is made to
 * check the state of all files again (it reports files whose state is new to it), and the
 * processes' mappings of the file are replaced by mappings of its present object.
 *
 * Mappings of a process that has ended are kept for a while, so a file that is overwritten right
 * after its program has ended leaves frames without names, too: the old code's names are gone.
 *
 * The kernel does not report writes through a shared mapping of the file.
 */
#ifndef PROC_WRITTEN_FILES_H
#define PROC_WRITTEN_FILES_H

#include <stdint.h>
#include <sys/types.h>

#include "proc/object.h"
#include "proc/process.h"

struct written_files;

/* Borrows all arguments. *epoch is increased after each write, since the kernel half compares it.
 * Returns 0; -ENOMEM; or the -errno of inotify_init1(): -EMFILE if the user has as many instances
 * of inotify as the system allows. */
int written_files_new(struct object_table *objects, struct process_table *processes,
		      uint32_t *epoch, struct written_files **ret_files);
void written_files_free(struct written_files *files); /* NULL is fine */

/* From now on, looking at files that were written to takes this share of the time at most (1 at
 * first, so that there is a limit for each call alone). Frames of those that have to wait are
 * unproven. */
void written_files_pace(struct written_files *files, double share);

/* Handles the writes since the last call, and watches files that were opened since. Must be called
 * before resolving samples that were taken after the last call; for older samples, the results of
 * earlier calls are valid. Returns 0 or -ENOMEM. */
int written_files_look(struct written_files *files);

/* Gives the object of a frame of a process at a time (CLOCK_MONOTONIC). On entry, *object is the
 * object of the frame's mapping; if it was not certain at that time which code the file had, it is
 * replaced by the object that stands for unproven code. `files` may be NULL. Returns 0 or
 * -ENOMEM. */
int written_files_proven(struct written_files *files, pid_t pid, uint64_t time_ns,
			 const struct object **object);

/* Returns how many frames got the object of unproven code. `files` may be NULL. */
uint64_t written_files_frames(const struct written_files *files);

/* Returns how many files are not watched because there are too many. `files` may be NULL. */
uint64_t written_files_unwatched(const struct written_files *files);

#endif
