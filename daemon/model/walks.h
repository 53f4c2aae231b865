/* SPDX-License-Identifier: MIT */
/*
 * Makes the call path of a record.
 *
 *   STACK  ──► walk of the copied stack (lib/unwind) ──► frames ──┐
 *   WALKED ──► kept frames (thread_paths.h), new frames ──────────┼──► locations, root first
 *   TAG    ──► the path that the tag stands for (tags/) ──────────┘
 *
 * A path also has the kernel's frames, an end reason, and an origin. Where there are branch records
 * or a tag of the same moment, they come in records of their own right before the sample's: they
 * are kept until it comes, and its walk is compared with them.
 */
#ifndef MODEL_WALKS_H
#define MODEL_WALKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/model/judge.h"
#include "daemon/model/judge_made.h"
#include "daemon/model/locator.h"
#include "daemon/model/made_code.h"
#include "daemon/model/steps.h"
#include "daemon/model/thread_paths.h"
#include "daemon/tables/tables.h"
#include "daemon/tags/tag_paths.h"
#include "daemon/worker/worker.h"
#include "proc/object.h"
#include "stack/origin.h"
#include "stackd_abi.h"
#include "unwind/dwarf_walk.h"

struct walks;

struct walks_options { /* all borrowed */
	const struct object_table *objects;
	struct location_table *locations;
	struct origin_table *origins;
	struct locator *locator;
	const struct tag_trie *trie;
	struct thread_paths *paths;
	struct made_code
		*made; /* NULL: the kernel half gets no rules for code that processes make */
};

/* The options are copied, what they point to is borrowed. 0 or -ENOMEM. */
int walks_new(const struct walks_options *options, struct walks **ret_walks);
void walks_free(struct walks *walks); /* NULL is fine */

/* Options, to be set before the first record. Pointers are borrowed. */
void walks_use_heights(struct walks *walks); /* frames of WALKED records have heights */
void walks_use_tables(struct walks *walks, struct tables *tables); /* for slices of files */
void walks_use_judge(struct walks *walks, struct judge *judge);
void walks_use_judge_made(struct walks *walks, struct judge_made *judge);
void walks_use_tags(struct walks *walks, struct tag_paths *tags);

/* Has files and code read by workers instead of by this process. 0 or -ENOMEM. */
int walks_use_workers(struct walks *walks, struct workers *workers);

/* Records come with branch records: of calls that have not returned (`is_call_stack`) or of every
 * kind. `entries`: how many the processor has. 0 or -ENOMEM. */
int walks_use_branches(struct walks *walks, bool is_call_stack, unsigned entries);

/* Drops what is kept for a thread id, since a new thread has it. */
void walks_forget(struct walks *walks, pid_t tid);

/* The result of walks_take() besides the path. */
struct walks_end {
	bool is_sample; /* false: the record belongs to a sample, and is none itself */
	enum stackd_end_reason reason;
	uint32_t origin; /* of the path's frames */
};

/* Makes the path of a record (record_read()), if it is a sample. 0; -ENOMEM; -EBADMSG: the record
 * cannot be used. */
int walks_take(struct walks *walks, const struct stackd_header *record, struct path *path,
	       struct walks_end *ret_end);

/* --- walks ahead: of copied stacks, by a worker ---------------------------------------------- */

/* Whether walks_take() needs a worker for a record, and waits for it if it is not walked yet. */
bool walks_need_worker(const struct walks *walks, const struct stackd_header *record);

/* Has a record's stack walked, before its turn. The record must stay until it was taken, or
 * dropped by walks_drop(). `is_next`: it is the next one to be taken. false: there is no room. */
bool walks_ask(struct walks *walks, const struct stackd_header *record, bool is_next);

/* Whether that was asked for. */
bool walks_have(const struct walks *walks, const struct stackd_header *record);

/* Whether a record's stack was walked, by the mappings that its process has now. */
bool walks_are_made(struct walks *walks, const struct stackd_header *record);

/* Drops the walk of a record, if there is one. */
void walks_drop(struct walks *walks, const struct stackd_header *record);

/* Sends and receives what can be without waiting; see walk_queue_go_on(). */
void walks_go_on(struct walks *walks);

/* See walk_queue_poll_fd(). -1: there is no worker. */
int walks_poll_fd(const struct walks *walks);

/* Whether some are being made. */
bool walks_are_under_way(const struct walks *walks);

/* How many have been asked for that are not made. */
size_t walks_asked(const struct walks *walks);

/* --- all of them ----------------------------------------------------------------------------- */

/* Forgets what is kept by number of location, since these were cleared. */
void walks_begin_anew(struct walks *walks);

/* Drops unwind information that has not been used for long; to be called between batches. */
void walks_trim(struct walks *walks);

/* Gives the statistics of the walks in the daemon. */
void walks_get_stats(const struct walks *walks, struct dwarf_walk_stats *ret_stats);

/* Returns how many return addresses were not looked at, whether a call has made them
 * (put_returns.h). */
uint64_t walks_unchecked_returns(const struct walks *walks);

/* Returns the verdicts on steps by rules other than unwind information. */
struct steps_counts walks_steps(const struct walks *walks);

#endif
