/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a path is complete that ends where no thread's stack is known to begin (enum
 * stackd_root).
 *
 * A program can enter a function by hand on a stack of its own. The word in the place of the
 * function's return address may then be anything: the program's 0, or, in memory that was used
 * before, the address behind a call of another time. From there a walk follows words of that time,
 * with right rules, to a word of 0, to a copy of a thread's first frames, or by a frame pointer to
 * the stack that the thread was on before. It looks like any other walk. So further evidence is
 * asked for:
 *
 *   0 in the midst of memory, or at the end of a mapping
 *      No call of the path goes to another function than the callee, and no code of the file calls
 *      the outermost function directly. If that function can return, which would end the program,
 *      each call is a direct call of the callee.
 *
 *   a rule, at another place: in a file's entry point
 *      No evidence would do.
 *
 *   a rule, at another place: in code that makes threads (it has system calls)
 *      Each call but the outermost frame's own is a direct call of the callee, unless the process
 *      has many thread-local variables, which are in between.
 *
 *   a rule, at another place: elsewhere, as in code of the C library that begins contexts
 *      No call goes to another function.
 *
 *   a rule, on another stack
 *      One of the callers, or the leaf, loads the stack pointer, and its rule does not count from
 *      that. (The stack for signal handlers is
 *      no other one while a handler runs.) If the path goes through a signal's frame, it is one of
 *      the callers of the interrupted function, or that function: the handler may have returned
 *      long ago, and its stack have become a coroutine's.
 *
 * What is found out about a location is kept. If a path lacks the evidence, it is cut before the
 * call nearest to the leaf for which there is none, and its end reason is UNPROVEN_ROOT; or
 * NO_TIME, if the evidence is lacking because a question was not answered.
 */
#ifndef RECORDER_ROOT_CHECK_H
#define RECORDER_ROOT_CHECK_H

#include "base/int_map.h"
#include "daemon/recorder/caller_check.h"
#include "daemon/recorder/thread_paths.h"
#include "daemon/tables/tables.h"

/* Empty if all is zero but the borrowed pointers. */
struct root_check {
	struct caller_check *check;
	const struct object_table *objects;
	const struct location_table *locations;
	struct tables *tables; /* NULL: none */
	/* Returns the mappings of a process; `processes` is its argument, borrowed. */
	const struct mapping_set *(*mappings_of)(void *processes, pid_t pid);
	void *processes;
	struct int_map roots;	    /* by location: enum callflow_root */
	struct int_map switches;    /* by location: whether it loads the stack pointer */
	struct int_map many_locals; /* by process: whether it has many thread-local variables, and
				     * for which version of its mappings that holds */
};

void root_check_fini(struct root_check *r); /* Frees what it keeps; zeroed is fine. */

/* Forgets what was found out, since the locations were cleared. */
void root_check_begin_anew(struct root_check *r);

/* Checks the user frames of a path that has reached an entry, before kernel frames are added. If
 * the evidence is lacking, sets path->cut, which may be 0, and path->cut_reason, and *ret_is_proven
 * to false. 0 or -ENOMEM. */
int root_check_path(struct root_check *r, struct path *path, pid_t pid, enum stackd_root root,
		    bool is_kernels, bool *ret_is_proven);

#endif
