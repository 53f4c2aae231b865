/* SPDX-License-Identifier: MIT */
/*
 * Enters call paths into the trie.
 *
 * The kernel half remembers the frames of each thread's last walk, and a WALKED record has only the
 * frames that differ from it. So this module keeps, for each thread, the path of that walk, as
 * (location, node) pairs. A WALKED record cuts that path off at its leaf end, and adds its new
 * frames, so to enter its path costs only what has changed. A STACK record leaves the kept path
 * unchanged, as the kernel half does.
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

/* Most user frames of a path: those that the kernel half remembers of a thread, and those that a
 * walk may add at either end. */
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
	size_t beyond; /* if the record joins an open walk (thread_paths_join()): number of frames
			* nearer to the root than that walk's */
	size_t cut;
	enum stackd_end_reason cut_reason; /* why the path ends there, if `cut` is not 0 */
	bool is_unread;	   /* the managed frames of an activation are not known, although stackd
			    * reads its interpreter */
	bool is_weak;	   /* some of its steps were not made by unwind information */
	uint32_t node;	   /* node of the last kept frame, which is in the trie already; or of the
			    * frame that stands for frames that were left out (left_out.h) */
	uint64_t kept_tag; /* tag of that node */
	uint32_t locations[PATH_MAX_FRAMES];
	uint32_t heights[PATH_MAX_FRAMES]; /* bytes to the end of the stack; 0: not known */
	uint64_t ids[PATH_MAX_FRAMES]; /* location ids of the new user frames of a WALKED record */
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
 * path, and sets the node of the last one. 0; -ENOMEM; -EBADMSG: the thread's previous record, to
 * which the kept frames refer, did not arrive. */
int thread_paths_recall(struct thread_paths *paths, const struct stackd_header *record,
			struct path *path);

/* An open walk is one that came to the limit of frames before the root; the thread's next walk may
 * come to its frames, and then goes on from its end (bpf/deep.bpf.h). Adds the frames of the
 * thread's open walk, without the `skipped` ones nearest to the leaf, to a path whose frames are
 * still leaf first. 0; -ENOMEM; -EBADMSG: the record of the open walk did not arrive. */
int thread_paths_join(struct thread_paths *paths, const struct stackd_header *record,
		      uint32_t skipped, struct path *path);

/* Enters a path of one frame: the frame at which the thread's stack begins, as of its last walk
 * that came there. Gives the path's node; the trie's root if there was no such walk. 0 or
 * -ENOMEM. */
int thread_paths_entry(struct thread_paths *paths, pid_t tid, uint32_t *ret_node);

/* Enters the path of a record into the trie, and gives the node of its leaf. Keeps the path of a
 * WALKED record, without the frames that branch records have added, for the thread's next record,
 * unless the record says that the kernel half does not remember the walk. 0 or -ENOMEM. */
int thread_paths_enter(struct thread_paths *paths, const struct stackd_header *record,
		       const struct path *path, uint32_t *ret_node);

/* Drops the path of a thread. To be called when a new thread has its id. */
void thread_paths_forget(struct thread_paths *paths, pid_t tid);

/* To be called before the trie and the locations are cleared. Copies the threads' paths, to which
 * their next records may refer, and enters each again when its thread's next record comes. 0;
 * -ENOMEM, and some paths are dropped. */
int thread_paths_begin_anew(struct thread_paths *paths);

/* Notes that a thread has ended. Samples of its last moments may still come. */
void thread_paths_on_exit(struct thread_paths *paths, pid_t tid);

/* Returns the number of records that thread_paths_recall() refused. */
uint64_t thread_paths_out_of_sequence(const struct thread_paths *paths);

#endif
