/* SPDX-License-Identifier: MIT */
/*
 * Checks the kernel half's walks (--judge). Each walk comes with a copy of the stack, which the
 * daemon walks, too. Both must find the same path.
 */
#ifndef RECORDER_JUDGE_H
#define RECORDER_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/recorder/thread_paths.h"
#include "proc/object.h"
#include "stackd_abi.h"

struct judge;

/* The tables are borrowed. 0 or -ENOMEM. */
int judge_new(const struct object_table *objects, const struct location_table *locations,
	      struct judge **ret_judge);
void judge_free(struct judge *judge); /* NULL is fine */

/* Keeps the user frames of a WALKED record's path for judge_hold(), after caller_check.h has
 * checked its steps; managed frames are kept for judge_hold_managed(). `reason`: the path's end
 * reason. Does nothing if `judge` is NULL, as the functions below. */
void judge_expect(struct judge *judge, const struct stackd_header *record, const struct path *path,
		  enum stackd_end_reason reason);

/* Compares the kept path with the path of the daemon's walk of the copy, whose steps have been
 * checked, too, and counts the result. The two paths must be equal, but:
 *   - If the daemon's walk could not finish (the copy is of one stack, and a signal handler runs on
 *     another), its frames must be the leaf end of the kernel half's. But if it met an address that
 *     is no caller where the kernel half's walk has reached the entry, the walk is wrong; unless
 *     `is_beyond` says that it had come to code whose callers the kernel half alone can find.
 *   - If the kernel half's walk ended at unreadable memory, or its path was cut before a wrong
 *     step, its frames must be the leaf end of the daemon's.
 *   - If it did not finish for another reason, with which the recording marks the path, the same
 *     holds, and such paths are counted apart. */
void judge_hold(struct judge *judge, const struct stackd_header *record, const struct path *path,
		enum stackd_end_reason reason, bool is_beyond);

/* To be called after judge_hold(), with the managed frames added to the path (managed_chain.h).
 * Compares them with those of the kernel half's walk, which remembers frames that have not changed,
 * while those of the copy were read anew. Does nothing if the native frames were not equal, or the
 * managed frames of one of the two are not proven. */
void judge_hold_managed(struct judge *judge, const struct stackd_header *record,
			const struct path *path);

struct judge_counts {
	uint64_t right, wrong;
	uint64_t managed_right, managed_wrong;
	uint64_t cut;  /* right as far as the shorter of the two walks goes */
	uint64_t less; /* right, but marked as incomplete where the daemon's walk went on */
};

/* Returns the counts so far. */
struct judge_counts judge_counts(const struct judge *judge);

#endif
