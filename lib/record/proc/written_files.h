/* SPDX-License-Identifier: MIT */
/*
 * Files that are written to while processes have mapped them as code.
 *
 * What a process runs then is what the file holds now, though its mapping is as it was: frames in
 * it would have the names of code that is gone. The kernel tells of writes (inotify). When it has
 * told of one, nothing says which bytes a sample was taken of that came between the last look at
 * which there was none and this one:
 *
 *   look ─────── write ─────── look            samples ──► time
 *     │      of either code     │    of what the file holds now
 *     └──────── not proven ─────┘
 *
 * In that time the frames of the file's old and new object are of neither: they are of an object
 * that stands for both, which has no names. At the second look the kernel half is made to look at
 * the state of all files anew (it reports those that it does not know), and mappings of processes
 * are entered anew, with what the file holds.
 *
 * Writes through a shared mapping of the file are not told of.
 */
#ifndef PROC_WRITTEN_FILES_H
#define PROC_WRITTEN_FILES_H

#include <stdint.h>
#include <sys/types.h>

#include "proc/object.h"
#include "proc/process.h"

struct written_files;

/* All are borrowed. `epoch` is raised after each write: the kernel half compares it. 0; -ENOMEM; or
 * the -errno of inotify_init1(): -EMFILE if the user has as many instances of inotify as the system
 * allows. */
int written_files_new(struct object_table *objects, struct process_table *processes,
		      uint32_t *epoch, struct written_files **ret_files);
void written_files_free(struct written_files *files); /* NULL is fine */

/* Looks for writes since the last time, and watches files that were opened since. To be called
 * before samples are resolved that were taken after the last call: what older calls have told of
 * them holds. 0 or -ENOMEM. */
int written_files_look(struct written_files *files);

/* Gives the object that a frame of a process is of, `object` by its mapping, at a time
 * (CLOCK_MONOTONIC): that one, or the one that stands for code which cannot be told. NULL `files`:
 * that one. 0 or -ENOMEM. */
int written_files_proven(struct written_files *files, pid_t pid, uint64_t time_ns,
			 const struct object **object);

/* Returns how many frames were of code that cannot be told. NULL is fine. */
uint64_t written_files_frames(const struct written_files *files);

/* Returns how many files are not watched, since there are too many. NULL is fine. */
uint64_t written_files_unwatched(const struct written_files *files);

#endif
