/* SPDX-License-Identifier: MIT */
/*
 * Compares the branch records of live samples with their walks (lib/code/lbr). Branch records are
 * the processor's list of the last branches (LBR). The kernel half sends them in a record of their
 * own, right before the sample's record. This module keeps them until the sample's record comes.
 */
#ifndef RECORDER_BRANCHES_H
#define RECORDER_BRANCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lbr/lbr.h"
#include "proc/object.h"
#include "stack/location.h"
#include "stackd_abi.h"
#include "unwind/dwarf_walk.h"

struct branches;

/* `walk` and `objects` are borrowed. `is_call_stack`: the processor records in call-stack mode;
 * otherwise it records branches of every kind. `entries`: how many branch records the processor
 * has. 0 or -ENOMEM. */
int branches_new(struct dwarf_walk *walk, const struct object_table *objects, bool is_call_stack,
		 unsigned entries, struct branches **ret_branches);
void branches_free(struct branches *branches);

/* Forgets what earlier branch records have shown of a thread, since it has ended, or a new thread
 * has its id. */
void branches_forget(struct branches *branches, pid_t tid);

/* Keeps a BRANCHES record, in place of the one that was kept before, until the record of its sample
 * comes. */
void branches_keep(struct branches *branches, const struct stackd_branch_record *record);

/* Returns whether the kept branch records belong to the sample with this header. NULL `branches`:
 * false. */
bool branches_belong(const struct branches *branches, const struct stackd_header *header);

/* The result of the comparison. */
struct branches_path {
	enum stackd_end_reason end;
	struct origin origin; /* where the user frames come from; its runs are valid until the next
			       * call */
	size_t more;	      /* frames that the branch records added at the root */
};

/* Compares the daemon's walk of a copied stack with the kept branch records. `frames`: the walk's
 * `*count` frames, leaf first, with room for `max`; they are replaced by the frames of the
 * resulting path. `end`: the walk's end reason. 0 or -ENOMEM. */
int branches_on_walk(struct branches *branches, pid_t tid, const struct walk_input *in,
		     struct walk_frame *frames, size_t max, size_t *count,
		     enum stackd_end_reason end, struct branches_path *ret_path);

/* Compares a path that the kernel half has walked, as `count` locations, root first, with the kept
 * branch records. Of `in`, only `find` and `arg` are used. branches_added() returns the frames that
 * the branch records add. 0 or -ENOMEM. */
int branches_on_path(struct branches *branches, pid_t tid, const struct walk_input *in,
		     const struct location_table *locations, const uint32_t *path, size_t count,
		     enum stackd_end_reason end, struct branches_path *ret_path);

/* Returns frame `i`, from the root, of those that branches_on_path() has added. */
struct location branches_added(const struct branches *branches, size_t i);

#endif
