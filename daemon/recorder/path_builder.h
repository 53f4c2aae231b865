/* SPDX-License-Identifier: MIT */
/*
 * Makes the call path of a record.
 *
 *   STACK  ──► walk of the copied stack (lib/code/unwind) ──► frames ──┐
 *   WALKED ──► kept frames (thread_paths.h), new frames ──────────┼──► locations, root first
 *   TAG    ──► the path that the tag stands for (tags/) ──────────┘
 *
 * A path also has the kernel's frames, an end reason, and an origin. Branch records, or a tag, of
 * the same moment come in records of their own right before the sample's record. They are kept
 * until that record comes, and its walk is compared with them.
 */
#ifndef RECORDER_PATH_BUILDER_H
#define RECORDER_PATH_BUILDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/recorder/branches.h"
#include "daemon/recorder/judge.h"
#include "daemon/recorder/judge_jit.h"
#include "daemon/recorder/locator.h"
#include "daemon/recorder/jit_tracker.h"
#include "daemon/recorder/caller_check.h"
#include "daemon/recorder/machines.h"
#include "daemon/recorder/managed.h"
#include "daemon/recorder/thread_paths.h"
#include "daemon/tables/tables.h"
#include "daemon/recorder/tag_paths.h"
#include "daemon/worker/walks.h"
#include "proc/object.h"
#include "stack/origin.h"
#include "stackd_abi.h"
#include "unwind/dwarf_walk.h"

struct path_builder;

struct path_builder_options { /* all borrowed */
	const struct object_table *objects;
	struct location_table *locations;
	struct origin_table *origins;
	struct locator *locator;
	const struct tag_trie *trie;
	struct thread_paths *paths;
	struct jit_tracker *jit;
	struct managed *managed;
	struct machines *machines;   /* NULL: frames of JIT code have no managed functions */
	struct walks *walks;	     /* walk copied stacks */
	struct tables *tables;	     /* finds files by the slice numbers of WALKED frames; NULL:
				      * there are none */
	struct judge *judge;	     /* NULL: walks are not judged (--judge) */
	struct judge_jit *judge_jit; /* NULL: walks through JIT code are not judged */
	struct tag_paths *tags;	     /* NULL: tags are ignored */
	struct branches *branches;   /* NULL: there are no branch records */
	bool has_heights;	     /* WALKED frames have heights */
};

/* The options are copied, what they point to is borrowed. 0 or -ENOMEM. */
int path_builder_new(const struct path_builder_options *options, struct path_builder **ret_builder);
void path_builder_free(struct path_builder *builder); /* NULL is fine */

/* Drops what is kept of a thread. To be called when a new thread has its id. */
void path_builder_forget(struct path_builder *builder, pid_t tid);

/* The result of path_builder_take() besides the path. */
struct path_builder_end {
	bool is_sample; /* false: the record has no path of its own, and only accompanies a sample's
			 * record */
	enum stackd_end_reason reason;
	uint32_t origin; /* number of the origin of the path's frames */
};

/* Makes the call path of a record (record_read()), or keeps a record that only accompanies one with
 * a path (ret_end->is_sample is false). 0; -ENOMEM; -EBADMSG: the record cannot be used, since it
 * is damaged or an earlier one that it refers to was lost. */
int path_builder_take(struct path_builder *builder, const struct stackd_header *record,
		      struct path *path, struct path_builder_end *ret_end);

/* --- walks of copied stacks ahead of time (worker/walks.h)
 * ------------------------------------------ */

/* Returns whether path_builder_take() would wait for a worker to walk the record's stack. */
bool path_builder_may_wait(const struct path_builder *builder, const struct stackd_header *record);

/* Has a worker walk a record's stack before path_builder_take() is called for it. The record must
 * live until then, or until path_builder_drop(). `is_next`: this record will be taken next. false:
 * there is no room for a further walk. */
bool path_builder_ask(struct path_builder *builder, const struct stackd_header *record,
		      bool is_next);

/* Returns whether path_builder_ask() was called for a record. */
bool path_builder_has_asked(const struct path_builder *builder, const struct stackd_header *record);

/* Returns whether path_builder_take() will not wait for the walk of a record's stack, because it
 * was made with the mappings that the process has now. */
bool path_builder_has_walked(struct path_builder *builder, const struct stackd_header *record);

/* Drops the walk of a record, if there is one. */
void path_builder_drop(struct path_builder *builder, const struct stackd_header *record);

/* --- all of them ----------------------------------------------------------------------------- */

/* Forgets what is kept under numbers of locations. To be called when the locations are cleared. */
void path_builder_begin_anew(struct path_builder *builder);

/* Drops unwind information that has not been used for long; to be called between batches. */
void path_builder_trim(struct path_builder *builder);

/* Gives the statistics of the walks in the daemon. */
void path_builder_get_stats(const struct path_builder *builder, struct dwarf_walk_stats *ret_stats);

/* Returns how many return addresses could not be checked for the call that has made them
 * (planted_returns.h). */
uint64_t path_builder_unchecked_returns(const struct path_builder *builder);

/* Returns the verdicts on steps by rules other than unwind information. */
struct caller_check_counts path_builder_steps(const struct path_builder *builder);

#endif
