/* SPDX-License-Identifier: MIT */
/*
 * Frames of code that is entered by jumps instead of calls: programs of GHC, traces of LuaJIT.
 *
 * Haskell code never moves the stack pointer, except around calls of C, whose stack must be
 * aligned. It runs in the frame of StgRun (rts/StgCRun.c of GHC), which the scheduler calls, and
 * which jumps to Haskell code. StgRun is recognised by its call frame information: the CFA is
 * relative to the stack pointer, while the caller's stack pointer is an expression, which compilers
 * never emit. Its rule holds for all code to which it jumps. So this module applies the rule to
 * code that has no rule itself, and accepts the step if it leads to the return address of a direct
 * call of StgRun. If StgRun is in another file, as it is for GHC's shared libraries, its call is
 * searched for on the stack.
 *
 * The step must begin at the bottom of StgRun's frame. Around a call of C, the code moves the stack
 * pointer down, and moves it up by as much behind the call; the instructions there show how far.
 * The module makes no step from code that may have a frame of its own, since the step would skip
 * its caller: code that reaches a return instruction, and code with the return address of a fitting
 * call on top of the stack.
 *
 * Traces of LuaJIT, which are JIT code, run in the frame of LuaJIT's interpreter, which they only
 * make larger. The interpreter's call frame information has one rule for all its code, even for the
 * functions by which C enters it. So a call to a function whose first instruction already has a
 * rule with a complete frame is a call of such an interpreter, and this module searches the stack
 * upwards for the return address of such a call.
 */
#ifndef UNWIND_JUMP_FRAME_H
#define UNWIND_JUMP_FRAME_H

#include "cfi/cfi_index.h"
#include "unwind/walk_run.h"

struct jump_frame {	 /* all zero: the function was not searched for */
	bool is_known;	 /* it was looked for */
	uint32_t object; /* number of the file's object */
	uint64_t start;	 /* vaddr of the function in whose frame the other code runs; 0: the file
			  * has no such function */
	struct walk_rule rule;
};

/* Finds such a function (GHC's StgRun) in a file, by the file's call frame information. Returns 0
 * or -ENOMEM; the caller empties *frame with jump_frame_drop(). */
int jump_frame_find(struct jump_frame *frame, const struct object *object,
		    const struct cfi_index *index);
void jump_frame_drop(struct jump_frame *frame);

/* Where to look rules up. */
struct jump_frame_rules {
	/* Returns the rule at an offset of an object's file; NULL: there is none. */
	const struct walk_rule *(*at)(void *arg, const struct object *object, uint64_t offset);
	void *arg;
};

/* Steps from JIT code to the caller of the interpreter in whose frame the code runs. Searches at
 * most JUMP_FRAME_SEARCHED words above the stack pointer. Returns whether it has found the
 * caller. */
bool jump_frame_leave_interpreter(struct walk_run *run, const struct jump_frame_rules *rules);

#define JUMP_FRAME_SEARCHED 96 /* words; LuaJIT's frame has 10, and traces seldom add as many */

/* Steps from code that runs in the frame of this function to the function's caller. Returns whether
 * it has stepped. */
bool jump_frame_step(struct walk_run *run, const struct jump_frame *frame,
		     const struct jump_frame_rules *rules);

#define JUMP_FRAMES 8 /* a system has one for each version and kind of GHC's run-time library */

/* Functions of any files in whose frames code of other files was found to run; zeroed: none. */
struct jump_frames {
	struct jump_frame items[JUMP_FRAMES];
	size_t count;
};

void jump_frames_drop(struct jump_frames *frames); /* empties the list, and frees what it owns */

/* Steps from code that runs in the frame of another file's function. If that is none of `frames`,
 * it is searched for on the stack, and added. *tries counts the searches for the code's file, 0
 * before the first; the more of them were in vain, the fewer follow. Returns whether it has
 * stepped; else the walk is as it was. */
bool jump_frames_step(struct jump_frames *frames, struct walk_run *run,
		      const struct jump_frame_rules *rules, uint32_t *tries);

#endif
