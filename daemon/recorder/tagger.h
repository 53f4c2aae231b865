/* SPDX-License-Identifier: MIT */
/*
 * Finds the processes that keep a tag: a thread's hash, chained over the functions on its stack
 * (docs/TAGS.md). Enters them into the kernel half's map, and says which functions change the tag.
 *
 * A process keeps tags if any file that it has mapped contains libstacktag; an ELF note says so.
 * The note leads to a word in the process's memory that holds the tag variable's distance from the
 * thread pointer, which is all that the kernel half needs. The library fills that word when it is
 * initialised. Until then stackd reads the word again and again.
 *
 * A tag has one meaning within one *program*: an executable together with the instrumented files
 * that it has mapped so far, in their order. A library that is loaded later may have functions of
 * the same names, so loading it makes another program.
 *
 * In a build with the part "tags", the functions of this header and of tag_paths.h are in
 * daemon/tags/; in a build without it, in daemon/without/tags.c (base/parts.h).
 */
#ifndef RECORDER_TAGGER_H
#define RECORDER_TAGGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/object.h"
#include "proc/process.h"
#include "proc/resident_memory.h"
#include "daemon/capture/sideband.h"
#include "daemon/worker/ask_worker.h"
#include "stackd_abi.h"

struct tagger;

/* The kernel half's maps. */
struct tagger_maps {
	int tagged_fd;
	uint32_t *n_tagged;	     /* entries of that map; borrowed */
	struct memory_source memory; /* how the memory of processes is read */
};

/* Makes a tagger whose files the worker of `files` (borrowed) reads. 0 or -ENOMEM. */
int tagger_new(const struct tagger_maps *maps, const struct ask_files *files,
	       struct tagger **ret_tagger);
int tagger_new_here(const struct tagger_maps *maps,
		    struct tagger **ret_tagger); /* makes a tagger that reads files in
						  * this process */
void tagger_free(struct tagger *tagger);	 /* NULL is fine */

/* Examines a process that runs already. 0 or -ENOMEM. */
int tagger_load(struct tagger *tagger, struct process_table *processes, pid_t pid);

/* Takes a side-band event: a process has mapped code of `object` (NULL: of no file), has forked a
 * child, which keeps tags as its parent does, has ended, or has called exec. To be called as soon
 * as the event is read. 0 or -ENOMEM. */
int tagger_on_event(struct tagger *tagger, const struct sideband_event *event,
		    const struct object *object);

/* Reads the word of the processes whose libstacktag was not initialised yet. */
void tagger_poll(struct tagger *tagger);

/* Returns how many processes were found to keep tags so far, those that have ended included. */
uint32_t tagger_processes(const struct tagger *tagger);

/* Returns whether no process keeps a tag, and none is polled. */
bool tagger_is_idle(const struct tagger *tagger);

#endif
