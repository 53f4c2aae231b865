/* SPDX-License-Identifier: MIT */
/*
 * Call paths on their way into the trie.
 *
 * Per thread the path of the kernel half's last remembered walk is kept as (location, node) pairs:
 * a WALKED record truncates it and adds its new frames, so tagging costs only what changed. A
 * STACK record leaves it as it is, as the kernel half does.
 */
#ifndef MODEL_THREAD_PATHS_H
#define MODEL_THREAD_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stack/location.h"
#include "stack/trie.h"
#include "stackd_abi.h"
#include "unwind/dwarf_walk.h"

#define PATH_MAX_FRAMES (DWARF_WALK_MAX_FRAMES + STACKD_MAX_KERNEL_FRAMES)

/* A path that is being put together, root first. */
struct path {
	size_t count;
	uint32_t locations[PATH_MAX_FRAMES];
	uint32_t heights[PATH_MAX_FRAMES]; /* bytes to the end of the stack; 0: not known */
	uint64_t ids[PATH_MAX_FRAMES];	   /* of the locations that a WALKED record adds */
	uint64_t tag;			   /* of what it keeps */
};

struct thread_paths;

/* Borrowed. 0 or -ENOMEM. */
int thread_paths_new(struct trie *trie, struct location_table *locations,
		     struct thread_paths **ret_paths);
void thread_paths_free(struct thread_paths *paths);

/* Frames have heights: of each node it is noted how much stack its frame has. */
void thread_paths_use_heights(struct thread_paths *paths);

/* Bytes of stack between a node's frame and its caller; 0: not known. */
uint32_t thread_paths_size(const struct thread_paths *paths, uint32_t node);

/* Enters a path's frames from `from` on below `node`; *ret_node: the last one's. 0 or -ENOMEM. */
int thread_paths_enter(struct thread_paths *paths, const struct path *path, size_t from,
		       uint32_t node, uint32_t *ret_node);

/* Enters a whole path; what it shares with the thread's last one is not looked up again. */
int thread_paths_enter_whole(struct thread_paths *paths, pid_t tid, const struct path *path,
			     uint32_t *ret_node);

/* --- a thread's last walk -------------------------------------------------------------------- */

/* The frames of it that a WALKED record keeps, as `path`, and their node. 0; -ENOMEM; -EBADMSG:
 * this record does not build on the one that was last seen. */
int thread_paths_recall(struct thread_paths *paths, const struct stackd_header *record,
			struct path *path, uint32_t *ret_node);

/* Enters the record's path below the node of what it kept, and remembers it for the next, unless
 * the record says that it will not be built upon. 0 or -ENOMEM. */
int thread_paths_enter_walked(struct thread_paths *paths, const struct stackd_header *record,
			      const struct path *path, uint32_t node, uint32_t *ret_node);

/* A new thread with this number: it begins without. */
void thread_paths_forget(struct thread_paths *paths, pid_t tid);

/* A thread has ended; samples of its last moments may still come. */
void thread_paths_on_exit(struct thread_paths *paths, pid_t tid);

uint64_t thread_paths_out_of_sequence(
	const struct thread_paths *paths); /* records that could not be built upon */

#endif
