/* SPDX-License-Identifier: MIT */
/*
 * Steps of a walk from a frame to its caller without call frame information: by frame pointers, in
 * JIT code, and out of the kernel's trampoline of uretprobes. They lead only to return addresses
 * that follow a call.
 */
#ifndef UNWIND_HEURISTIC_STEP_H
#define UNWIND_HEURISTIC_STEP_H

#include "unwind/walk_run.h"

/* Steps out of code of a file that maintains a frame pointer. If the code was interrupted, its
 * frame may be set up only partly, which its instructions must show. Returns WALK_GO_ON, or the
 * reason why the walk ends: STACKD_END_NO_RECIPE if no such step is found. */
enum stackd_end_reason
heuristic_step_by_frame_pointer(struct walk_run *run, const struct object *object, uint64_t offset);

/* Steps out of JIT code: by the rule from its instructions in memory, else by the frame pointer.
 * Returns as heuristic_step_by_frame_pointer(). */
enum stackd_end_reason heuristic_step_without_file(struct walk_run *run,
						   const struct object *object);

/* Steps out of code of a file whose recipes (its table of rules) are still being made: by the rule
 * from the instructions around its offset, or by the frame pointer where that can succeed. Returns
 * as heuristic_step_by_frame_pointer(). */
enum stackd_end_reason heuristic_step_without_recipes(struct walk_run *run,
						      const struct object *object, uint64_t offset);

/* If the leaf is a function that takes its return address off the stack and makes the frame of its
 * caller, which is JIT code, steps to that caller. The registers stay as they are, and run->next
 * becomes the caller's rule, which is relative to these registers. Returns whether it has
 * stepped. */
bool heuristic_step_from_taker(struct walk_run *run);

/* Steps by run->next, out of the frame to which heuristic_step_from_taker() has led. Returns as
 * heuristic_step_by_frame_pointer(). */
enum stackd_end_reason heuristic_step_by_next(struct walk_run *run);

/* For an address in no known mapping at which a signal has interrupted the thread. If it is the end
 * of the kernel's trampoline of uretprobes (6.11 and later), moves the walk to the address to which
 * the trampoline returns, and returns true. Earlier in the trampoline, only the kernel knows the
 * return address: bpf/probed.bpf.h. */
bool heuristic_step_leave_trampoline(struct walk_run *run);

/* For an address in no known mapping at which a thread has faulted. If code has called a bad
 * pointer, so that the return address is on top of the stack, moves the walk to the return address,
 * and returns true. */
bool heuristic_step_from_nowhere(struct walk_run *run);

#endif
