/* SPDX-License-Identifier: MIT */
/*
 * Enters call paths into the trie.
 *
 * For each thread it keeps the path of the last walk that the kernel half remembers, as (location,
 * node) pairs. A WALKED record truncates that path and adds its new frames, so entering a path
 * costs only what changed. A STACK record leaves the path unchanged, as the kernel half does.
 */
#ifndef RECORDER_THREAD_PATHS_H
#define RECORDER_THREAD_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stack/location.h"
#include "stack/tag_trie.h"
#include "stackd_abi.h"
#include "unwind/dwarf_walk.h"

/* The frames that the kernel half remembers, and those that a walk may add at either end. */
#define PATH_MAX_USER	(STACKD_DEEP_MOST + 2 * STACKD_DEEP_NEW)
#define PATH_MAX_FRAMES (PATH_MAX_USER + STACKD_MAX_KERNEL_FRAMES)

/*
 * The call path of a record, root first:
 *
 *   added by branch records | kept from the thread's last walk | new user frames | kernel frames
 *   0                  added                         added + kept              user          count
 *
 * The sample gets the path without its first `cut` frames if one of its steps is wrong
 * (caller_check.h). Such a path has no added frames.
 */
struct path {
	size_t added, kept, user, count;
	size_t beyond; /* if the record joins an open walk: frames rootwards of that walk */
	size_t cut;
	enum stackd_end_reason cut_reason; /* why the path ends there, if `cut` is not 0 */
	bool is_weak;	   /* some of its steps were not made by unwind information */
	uint32_t node;	   /* node of the last kept frame, which is in the trie already; or of the
			    * frame that stands for frames that were left out (left_out.h) */
	uint64_t kept_tag; /* tag of that node */
	uint32_t locations[PATH_MAX_FRAMES];
	uint32_t heights[PATH_MAX_FRAMES]; /* bytes to the end of the stack; 0: not known */
	uint64_t ids[PATH_MAX_FRAMES];	   /* of the new user frames of a WALKED record */
};

struct thread_paths;

/* `trie` and `locations` are borrowed. `has_heights`: paths have heights, from which the bytes of
 * stack of each node's frame are kept. 0 or -ENOMEM. */
int thread_paths_new(struct tag_trie *trie, struct location_table *locations, bool has_heights,
		     struct thread_paths **ret_paths);
void thread_paths_free(struct thread_paths *paths); /* NULL is fine */

/* Returns the bytes of stack between a node's frame and its caller; 0: not known. */
uint32_t thread_paths_size(const struct thread_paths *paths, uint32_t node);

/* Starts the path of a WALKED record with the frames that the record keeps of the thread's last
 * path, and their node. 0; -ENOMEM; -EBADMSG: the record before, on which this one builds, did not
 * arrive. */
int thread_paths_recall(struct thread_paths *paths, const struct stackd_header *record,
			struct path *path);

/* Adds the frames of the thread's open walk, which a record joins (struct stackd_part), to a path
 * whose frames come leaf first. 0; -ENOMEM; -EBADMSG: the record before did not arrive. */
int thread_paths_join(struct thread_paths *paths, const struct stackd_header *record,
		      uint32_t skipped, struct path *path);

/* Enters the first frame of the thread's last path that began at the thread's entry, and gives its
 * node; the trie's root if there was no such path. 0 or -ENOMEM. */
int thread_paths_entry(struct thread_paths *paths, pid_t tid, uint32_t *ret_node);

/* Enters the path of a record, and gives the node of its leaf. Keeps the path of a WALKED record,
 * without the frames that branch records added, for the thread's next record, unless the record
 * says that the next one will not build on it. 0 or -ENOMEM. */
int thread_paths_enter(struct thread_paths *paths, const struct stackd_header *record,
		       const struct path *path, uint32_t *ret_node);

/* Drops the path of a thread id, since a new thread has it. */
void thread_paths_forget(struct thread_paths *paths, pid_t tid);

/* To be called before the trie and the locations are cleared. Copies the paths that the next
 * records build on, and enters each again when its thread's next record comes. 0, or -ENOMEM with
 * some paths dropped. */
int thread_paths_begin_anew(struct thread_paths *paths);

/* Notes that a thread has ended. Samples of its last moments may still come. */
void thread_paths_on_exit(struct thread_paths *paths, pid_t tid);

/* Returns the number of records that thread_paths_recall() refused. */
uint64_t thread_paths_out_of_sequence(const struct thread_paths *paths);

#endif
