/* SPDX-License-Identifier: MIT */
/*
 * Branch records of live samples: they come in a record of their own right before the sample's,
 * are kept until that comes, and are held against its walk (lib/lbr).
 */
#ifndef MODEL_BRANCHES_H
#define MODEL_BRANCHES_H

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

/* `walk` and `objects` are borrowed. `is_call_stack`: the records are of that mode, else of every
 * kind. `entries`: how many the processor has. 0 or -ENOMEM. */
int branches_new(struct dwarf_walk *walk, const struct object_table *objects, bool is_call_stack,
		 unsigned entries, struct branches **ret_branches);
void branches_free(struct branches *branches);

/* A thread has ended, or its number is used anew. */
void branches_forget(struct branches *branches, pid_t tid);

/* Keeps a BRANCHES record until the sample's comes. */
void branches_keep(struct branches *branches, const struct stackd_branch_record *record);

/* Are there records of this sample? NULL `branches`: never. */
bool branches_belong(const struct branches *branches, const struct stackd_header *header);

/* What a path has become. */
struct branches_path {
	enum stackd_end_reason end;
	struct origin origin; /* of the user frames; its runs live until the next call */
	size_t more;	      /* frames that were added at the root */
};

/* Holds a walk from a copied stack against the records: `frames`, leaf first, with room for `max`,
 * become the path. 0 or -ENOMEM. */
int branches_on_walk(struct branches *branches, pid_t tid, const struct walk_input *in,
		     struct walk_frame *frames, size_t max, size_t *count,
		     enum stackd_end_reason end, struct branches_path *ret_path);

/* The same for a path of locations, root first, of a walk that is not here: `in` has `find` and
 * `arg` only. What is added is given by branches_added(). 0 or -ENOMEM. */
int branches_on_path(struct branches *branches, pid_t tid, const struct walk_input *in,
		     const struct location_table *locations, const uint32_t *path, size_t count,
		     enum stackd_end_reason end, struct branches_path *ret_path);

/* Frame `i`, from the root, of those that branches_on_path() has added. */
struct location branches_added(const struct branches *branches, size_t i);

#endif
