/* SPDX-License-Identifier: MIT */
/*
 * Steps without call frame information: by frame pointers, in JIT code, and out of the kernel's
 * trampoline of uretprobes. They lead only to return addresses that follow a call.
 */
#ifndef UNWIND_HEURISTIC_STEP_H
#define UNWIND_HEURISTIC_STEP_H

#include "unwind/walk_run.h"

/* Steps out of code of a file that maintains a frame pointer. If the code was interrupted, its
 * frame may be set up in part, which its instructions must show. Returns WALK_GO_ON, or the reason
 * why the walk ends: STACKD_END_NO_RECIPE if no such step is found. */
enum stackd_end_reason
heuristic_step_by_frame_pointer(struct walk_run *run, const struct object *object, uint64_t offset);

/* Steps out of JIT code: by the rule from its instructions in memory, else by frame pointer.
 * Results as above. */
enum stackd_end_reason heuristic_step_without_file(struct walk_run *run,
						   const struct object *object);

/* Steps out of code of a file whose recipes are still being made: by the rule from the instructions
 * around its offset, or by frame pointer where that can succeed. Results as above. */
enum stackd_end_reason heuristic_step_without_recipes(struct walk_run *run,
						      const struct object *object, uint64_t offset);

/* Steps out of the leaf if it is a function that takes its return address off the stack to make the
 * frame of its caller, which is JIT code. The registers stay as they are, and run->next becomes the
 * caller's rule for them. Returns whether it did. */
bool heuristic_step_from_taker(struct walk_run *run);

/* Steps by run->next, out of the frame that heuristic_step_from_taker() has led to. */
enum stackd_end_reason heuristic_step_by_next(struct walk_run *run);

/* For an address in no known mapping at which a signal has interrupted the thread: if that is the
 * end of the kernel's trampoline of uretprobes (6.11 and later), moves the walk to the address to
 * which it returns, and returns true. Earlier in the trampoline, only the kernel has the return
 * address: bpf/probed.bpf.h. */
bool heuristic_step_leave_trampoline(struct walk_run *run);

/* For an address in no known mapping at which a thread has faulted: if code has called a bad
 * pointer, so that the return address is on top of the stack, moves the walk there and returns
 * true. */
bool heuristic_step_from_nowhere(struct walk_run *run);

#endif
