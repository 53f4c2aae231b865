/* SPDX-License-Identifier: MIT */
/*
 * Walks: the user part of a sample's path, from its record.
 *
 *   STACK  ──► the walk of the copied stack (lib/unwind) ──► frames ──┐
 *   WALKED ──► the frames that the kernel half found ─────────────────┴──► locations, root first
 *
 * Where there are branch records of the same sample, either is held against them.
 */
#ifndef MODEL_WALKS_H
#define MODEL_WALKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/model/thread_paths.h"
#include "daemon/model/locator.h"
#include "proc/object.h"
#include "stack/origin.h"
#include "stackd_abi.h"
#include "daemon/tables/tables.h"
#include "unwind/dwarf_walk.h"

struct walks;

struct walks_options { /* all borrowed */
	const struct object_table *objects;
	struct location_table *locations;
	struct origin_table *origins;
	struct locator *places;
	const struct trie *trie;
};
int walks_new(const struct walks_options *options, struct walks **ret_walks); /* 0 or -ENOMEM */
void walks_free(struct walks *walks);

void walks_use_heights(struct walks *walks); /* WALKED records have them */
void walks_use_tables(struct walks *walks, const struct tables *tables); /* WALKED: by segment */
int walks_use_branches(struct walks *walks, bool is_call_stack, unsigned entries);

/* What branch records there are of the sample that comes next. */
void walks_keep_branches(struct walks *walks, const struct stackd_branch_record *record);
void walks_forget(struct walks *walks, pid_t tid); /* a new thread has this number */

/* What comes of a record besides the path. */
struct walks_end {
	enum stackd_end_reason reason;
	uint32_t origin; /* of the path's frames */
};

/* Walks the copied stack of a STACK record. 0 or -ENOMEM. */
int walks_of_stack(struct walks *walks, const struct stackd_stack_record *record, struct path *path,
		   struct walks_end *ret_end);

/* Adds the frames of a WALKED record to those that it kept, path->count. 0; -ENOMEM; -EBADMSG:
 * these are no frames. */
int walks_of_walked(struct walks *walks, const struct stackd_header *record, struct path *path);

/* Holds that path against the branch records. *ret_added: they go on where the walk stopped, and
 * those frames are now at the path's root. `end` is changed if they have a say. 0 or -ENOMEM. */
int walks_add_branches(struct walks *walks, const struct stackd_header *record, struct path *path,
		       struct walks_end *end, bool *ret_added);

/* Between batches: drops unwind information that has not been used for long. */
void walks_rest(struct walks *walks);

void walks_get_stats(const struct walks *walks, struct dwarf_walk_stats *ret_stats);

#endif
