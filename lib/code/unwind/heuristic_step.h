/* SPDX-License-Identifier: MIT */
/*
 * Steps whose rules nothing states: by frame pointers, in code without a file, and out of the
 * kernel's trampoline of uretprobes. They lead only to return addresses that follow a call.
 */
#ifndef UNWIND_HEURISTIC_STEP_H
#define UNWIND_HEURISTIC_STEP_H

#include "unwind/walk_run.h"

/* Steps out of code of a file that keeps a frame pointer, which code that was interrupted may
 * not have done all yet, or undone some: there the instructions have to tell. Returns WALK_GOES_ON,
 * or the reason why the walk ends: STACKD_END_NO_RECIPE if what is there does not look like it. */
enum stackd_end_reason
heuristic_step_by_frame_pointer(struct walk_run *run, const struct object *object, uint64_t offset);

/* Steps out of code of an object that has no file: by the rule that its instructions in memory
 * tell, else by frame pointer. Results as above. */
enum stackd_end_reason heuristic_step_without_file(struct walk_run *run,
						   const struct object *object);

/* Steps out of code of a file whose recipes are still being made: by the rule that the instructions
 * around its offset tell, or by frame pointer where that is worth a try. Results
 * as above. */
enum stackd_end_reason heuristic_step_without_recipes(struct walk_run *run,
						      const struct object *object, uint64_t offset);

/* Of an address in no mapping that is known, where a signal has hit the thread: if that is the end
 * of the kernel's trampoline of uretprobes (6.11 and later), moves the walk to where it returns to
 * and tells true. Earlier in the trampoline the return address is in the kernel alone:
 * bpf/probed.bpf.h. */
bool heuristic_step_leave_trampoline(struct walk_run *run);

/* Of an address in no mapping that is known, where a thread has faulted: if code has called a bad
 * pointer, so that the return address is on top of the stack, moves the walk there and tells true.
 */
bool heuristic_step_from_nowhere(struct walk_run *run);

#endif
