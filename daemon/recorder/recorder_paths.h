/* SPDX-License-Identifier: MIT */
/*
 * The parts that make the call path of a record: those that walk, those that find locations, and
 * the tables of locations and paths. Only recorder*.c include this.
 *
 *   walks, jit, tags, branches ──► builder ──► threads ──► trie
 *                          locator ──► locations
 */
#ifndef RECORDER_RECORDER_PATHS_H
#define RECORDER_RECORDER_PATHS_H

#include "daemon/recorder/branches.h"
#include "daemon/recorder/jit_tracker.h"
#include "daemon/recorder/judge.h"
#include "daemon/recorder/judge_jit.h"
#include "daemon/recorder/left_out.h"
#include "daemon/recorder/locator.h"
#include "daemon/recorder/machines.h"
#include "daemon/recorder/managed.h"
#include "daemon/recorder/path_builder.h"
#include "daemon/recorder/recorder_files.h"
#include "daemon/recorder/recorder_tasks.h"
#include "daemon/recorder/tagger.h"
#include "daemon/recorder/thread_paths.h"
#include "daemon/worker/walks.h"
#include "stack/location.h"
#include "stack/origin.h"
#include "stack/tag_trie.h"

struct recorder_paths {
	struct location_table *locations;
	struct tag_trie *trie;
	struct origin_table *origins;
	struct locator *locator;
	struct jit_tracker *jit;
	struct managed *managed;
	struct machines *machines; /* NULL: they are not read */
	struct walks *walks;
	struct branches *branches;   /* NULL: there are no branch records */
	struct judge *judge;	     /* NULL: walks are not judged */
	struct judge_jit *judge_jit; /* NULL likewise */
	struct tagger *tagger;	     /* NULL: tags are not looked at */
	struct tag_paths *tags;	     /* NULL likewise */
	struct path_builder *builder;
	struct thread_paths *threads; /* the last path of each */
	struct left_out left_out;     /* frames that stand for stack that was not walked */
	struct path path;	      /* the path of the current record; it is too large for the C
				       * stack */
	unsigned taken_since_look;    /* records taken since recorder_ahead.c last looked for stacks
				       * to be walked */
	uint64_t forgotten, locations_forgotten; /* number of paths and locations that were
						  * forgotten at the ends of full windows */
};

/* Makes all members, in a zeroed struct. Files and tasks are borrowed. 0 or -errno;
 * recorder_paths_fini() in any case. */
int recorder_paths_init(struct recorder_paths *paths, const struct recorder_options *options,
			struct recorder_files *files, struct recorder_tasks *tasks);
void recorder_paths_fini(struct recorder_paths *paths); /* a zeroed one is fine */

/* Returns whether there are so many paths and locations that the window should end. */
bool recorder_paths_are_many(const struct recorder_paths *paths);

/* Forgets all paths and locations. To be called when a window begins. 0; -ENOMEM, and nothing is
 * changed. */
int recorder_paths_begin_anew(struct recorder_paths *paths);

/* Drops unwind information that has not been used for long, and lets processes be searched for JIT
 * code again; paths and locations stay. To be called about once a second. */
void recorder_paths_trim(struct recorder_paths *paths);

#endif
