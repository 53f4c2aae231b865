/* SPDX-License-Identifier: MIT */
/*
 * Detects writes to files while processes have them mapped as code.
 *
 * The process then runs what the file holds now, though its mapping is unchanged: frames in it
 * would get the names of code that is gone. The kernel reports writes (inotify). A report does not
 * say which code a sample hit that came between the last look without a write and the look with
 * one:
 *
 *   look ─────── write ─────── look            samples ──► time
 *     │      of either code     │    of the file's present code
 *     └──────── not proven ─────┘
 *
 * Frames of that time are neither of the file's old object nor of its new one: they are of an
 * object that represents both, and has no names. At the second look the kernel half is made to
 * check the state of all files again (it reports those that it does not know), and mappings of
 * processes are entered again, with the file's present object.
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

/* Borrows all. Raises `epoch` after each write; the kernel half compares it. Returns 0; -ENOMEM; or
 * the -errno of inotify_init1(): -EMFILE if the user has as many instances of inotify as the system
 * allows. */
int written_files_new(struct object_table *objects, struct process_table *processes,
		      uint32_t *epoch, struct written_files **ret_files);
void written_files_free(struct written_files *files); /* NULL is fine */

/* Handles writes since the last call, and watches files that were opened since. The caller calls it
 * before it resolves samples that were taken after the last call; for older samples, the results of
 * earlier calls hold. 0 or -ENOMEM. */
int written_files_look(struct written_files *files);

/* Gives the object of a frame, for a process and a time (CLOCK_MONOTONIC). The caller passes in the
 * object of the frame's mapping; if the file's code was unproven at that time, it is replaced by
 * the object that represents unproven code. `files` may be NULL. 0 or -ENOMEM. */
int written_files_proven(struct written_files *files, pid_t pid, uint64_t time_ns,
			 const struct object **object);

/* Returns how many frames were of unproven code. NULL is fine. */
uint64_t written_files_frames(const struct written_files *files);

/* Returns how many files are not watched, because there are too many. NULL is fine. */
uint64_t written_files_unwatched(const struct written_files *files);

#endif
