/* SPDX-License-Identifier: MIT */
/*
 * Checks the kernel half's walks (--judge): each comes with a copy of the stack, which the daemon
 * walks again; both must find the same path.
 */
#ifndef MODEL_JUDGE_H
#define MODEL_JUDGE_H

#include <stdint.h>

#include "daemon/model/thread_paths.h"
#include "proc/object.h"
#include "stackd_abi.h"

struct judge;

/* The tables are borrowed. 0 or -ENOMEM. */
int judge_new(const struct object_table *objects, const struct location_table *locations,
	      struct judge **ret_judge);
void judge_free(struct judge *judge); /* NULL is fine */

/* Keeps the user part of a WALKED record's path, whose steps have been checked (caller_check.h),
 * for judge_hold(). `reason`: why it ends. NULL `judge`, here and below: nothing is checked. */
void judge_expect(struct judge *judge, const struct stackd_header *record, const struct path *path,
		  enum stackd_end_reason reason);

/* Compares that path with the one that the daemon has walked from the copy, of which the steps have
 * been checked, too. If its walk could not finish (the copy is of one stack, and a signal handler
 * runs on another), the frames that it found must be the leaf end of the kernel half's; and the
 * other way round if that one ended at memory that could not be read, or was cut at a step that
 * does not hold: what the recording has of it. If the kernel half's walk did not finish for another
 * reason, with which the recording marks the path, its frames must be the leaf end of the daemon's:
 * such paths are counted apart. */
void judge_hold(struct judge *judge, const struct stackd_header *record, const struct path *path,
		enum stackd_end_reason reason);

struct judge_counts {
	uint64_t right, wrong;
	uint64_t cut;  /* right as far as the judge could see */
	uint64_t less; /* right, and marked as incomplete where the daemon's walk went on */
};

/* Returns the counts so far. */
struct judge_counts judge_counts(const struct judge *judge);

#endif
