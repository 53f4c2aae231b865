/* SPDX-License-Identifier: MIT */
/*
 * Checks the steps of walks that were not made by unwind information: whether the code of the frame
 * to which the walk has stepped (the caller) calls the function of the frame below
 * (callflow/callflow_step.h). Each pair of locations is checked once and the verdict is kept, so a
 * path costs one look-up for each such step. All new pairs of a path are checked by one call
 * (worker/walks.h).
 *
 * A path is cut before the first return address, counted from the leaf, that no call has made
 * (unwind/planted_return.h), by whatever rule the walk came there; and before the first wrong step.
 * A step by the frame pointer out of JIT code skips callers where that code does not maintain one,
 * and the frame that it reaches looks like any caller. So the check first reads that code. If it
 * cannot be read (the process may have ended), the step is taken unchecked, unless other code of
 * the process keeps no frame pointers: then the path ends before it.
 *
 * A step by the frame pointer out of a file's code is a guess: no source has a rule for that code,
 * so nothing shows that it keeps a frame pointer. The path ends before it unless the call is
 * confirmed: also if the caller's code cannot be read, which is tried again after each
 * caller_check_tick(), and if the check is postponed.
 *
 * Where another function begins at a return address (planted_returns.h), the call before it would
 * be one that never returns. Such a step is checked, and an indirect call is taken for a wrong one
 * (callflow/callflow_step.h), unless the caller was itself called by a call that goes to it, or by
 * the C library as the first function of a thread or program.
 *
 * A walk that ends on another stack, or at an address in no mapping, may have gone on to words that
 * no call has left there, since a program can enter a function by hand on a stack of its own. So
 * such a path begins, counted from the root, only behind the last step whose call is confirmed.
 *
 * JIT code may be read before all of it is written, and a call in it may be patched later. So a
 * wrong step there is checked again after each caller_check_tick().
 *
 * A hostile program can have very many pairs, and code that takes long to follow. So checks have a
 * budget of CPU time: CALLER_CHECK_EARNED_NS for each path, saved up to CALLER_CHECK_SAVED_NS. When
 * the budget is used up, the check of a new pair is postponed until the pair comes again. Until
 * then the path ends before the step if it followed a frame pointer; other steps are taken.
 */
#ifndef RECORDER_CALLER_CHECK_H
#define RECORDER_CALLER_CHECK_H

#include "daemon/recorder/jit_tracker.h"
#include "daemon/recorder/thread_paths.h"
#include "daemon/worker/walks.h"
#include "proc/object.h"
#include "stack/location.h"

#define CALLER_CHECK_EARNED_NS 200000	 /* for each path: a fifth of a CPU at 997 Hz */
#define CALLER_CHECK_SAVED_NS  200000000 /* enough for a usual program; a pair takes some 50 us */

struct caller_check;

struct caller_check_options { /* all borrowed */
	const struct object_table *objects;
	const struct location_table *locations;
	struct walks *walks;	       /* check steps */
	const struct jit_tracker *jit; /* knows in which JIT code the kernel half walks by a
					* runtime's rules; NULL: in none */
	uint64_t (*clock)(void);       /* gives CPU time in ns; NULL: the thread's */
};

/* The options are copied. 0 or -ENOMEM. */
int caller_check_new(const struct caller_check_options *options, struct caller_check **ret_check);
void caller_check_free(struct caller_check *check); /* NULL is fine */

/* Forgets all verdicts, since the locations were cleared. The counts go on. */
void caller_check_begin_anew(struct caller_check *check);

/* From now on, steps in JIT code whose verdict may have changed are checked again. To be called
 * whenever walks_tick() is. */
void caller_check_tick(struct caller_check *check);

/* From now on, checks not only the new frames of a path, but also those that it keeps from the
 * thread's last path. To be called when a location was found to be no caller after it had been
 * entered (planted_returns_look_again()). */
void caller_check_recheck_kept(struct caller_check *check);

/* Checks the steps between the user frames of a path, to which the kernel frames have not been
 * added yet. Sets path->cut and path->is_weak. `reason`: why the walk ended. `is_kernels`: the
 * kernel half made the walk. 0 or -ENOMEM. */
int caller_check_path(struct caller_check *check, struct path *path, enum stackd_end_reason reason,
		      bool is_kernels);

/* Gives the verdict on the step from frame `at` of a path, which is not 0, to its caller, also if
 * unwind information made it; UNCHECKED if no CPU time is left for the check, or nobody has
 * answered. 0 or -ENOMEM. */
int caller_check_step(struct caller_check *check, const struct path *path, size_t at,
		      bool is_kernels, enum callflow_step *ret_verdict);

/* Asks about a location as a caller (walks.h). Returns false if there is no answer: no CPU time is
 * left, or the worker has failed or was not asked. It may be asked again. */
bool caller_check_ask(struct caller_check *check, uint32_t caller, enum walks_question question,
		      struct walks_verdict *ret_answer);

/* Returns whether a pair of locations, from a step of the daemon's walk out of JIT code, was
 * confirmed, because the caller's code calls code from which jumps lead to the callee. */
bool caller_check_is_confirmed(const struct caller_check *check, uint32_t caller, uint32_t callee);

/* For each verdict, how many pairs have got it. `postponed`: how many steps were taken, or
 * questions left open, without a check, since the CPU time was used up or nobody has answered. */
struct caller_check_counts {
	uint64_t unchecked, confirmed, probable, wrong, postponed;
};

/* Returns the counts so far. */
struct caller_check_counts caller_check_counts(const struct caller_check *check);

#endif
