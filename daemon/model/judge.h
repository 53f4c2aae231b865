/* SPDX-License-Identifier: MIT */
/*
 * The judge (--judge): with a walk of the kernel's comes a copy of the stack, which the daemon
 * walks again; both must have found the same path.
 */
#ifndef MODEL_JUDGE_H
#define MODEL_JUDGE_H

#include <stdint.h>

#include "daemon/model/thread_paths.h"
#include "proc/object.h"
#include "stackd_abi.h"

struct judge;

int judge_new(const struct object_table *objects, const struct location_table *locations,
	      struct judge **ret_judge); /* borrowed; 0 or -ENOMEM */
void judge_free(struct judge *judge);

/* The user part of a WALKED record. (NULL `judge`, in all of these: nothing is judged.) */
void judge_expect(struct judge *judge, const struct stackd_header *record, const struct path *path);

/* The path that the daemon's walk has made of the copy that came with it. Where that could not
 * finish (the copy is of one stack, and the thread is on another that a signal handler has), what
 * it saw must be the end of the path. */
void judge_hold(struct judge *judge, const struct stackd_header *record, const struct path *path,
		enum stackd_end_reason reason);

struct judge_counts {
	uint64_t right, wrong;
	uint64_t cut; /* right as far as the judge could see */
};
struct judge_counts judge_counts(const struct judge *judge);

#endif
