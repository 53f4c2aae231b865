/* SPDX-License-Identifier: MIT */
/*
 * Frames of code that is entered by jumps instead of calls: programs of GHC, traces of LuaJIT.
 *
 * Haskell code never moves the stack pointer, except around calls of C, whose stack must be
 * aligned. It runs in the frame of StgRun (rts/StgCRun.c of GHC), which the scheduler calls, and
 * which jumps to Haskell code. StgRun is recognised by its call frame information: the CFA is
 * relative to the stack pointer, while the caller's stack pointer is an expression, which compilers
 * never emit. Its rule holds for all code to which it jumps. So this module applies the rule to
 * code of the same file that has no rule itself, and accepts the step if it leads to the return
 * address of a direct call of StgRun.
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

struct jump_frame {	/* all zero: the function was not searched for */
	bool is_known;	/* it was looked for */
	uint64_t start; /* vaddr of the function in whose frame the other code runs; 0: the file
			 * has no such function */
	struct walk_rule rule;
};

/* Finds such a function (GHC's StgRun) in a file, by the file's call frame information. Returns 0
 * or -ENOMEM; the caller empties *frame with jump_frame_drop(). */
int jump_frame_find(struct jump_frame *frame, const struct cfi_index *index);
void jump_frame_drop(struct jump_frame *frame);

/* Returns the rule at an offset of an object's file; NULL: there is none. */
typedef const struct walk_rule *jump_frame_rule_fn(void *arg, const struct object *object,
						   uint64_t offset);

/* Steps from JIT code to the caller of the interpreter in whose frame the code runs. Searches at
 * most JUMP_FRAME_SEARCHED words above the stack pointer. Returns whether it has found the
 * caller. */
bool jump_frame_leave_interpreter(struct walk_run *run, jump_frame_rule_fn *rule_at, void *arg);

#define JUMP_FRAME_SEARCHED 96 /* words; LuaJIT's frame has 10, and traces seldom add as many */

/* Steps from code of an object to the caller of the function in whose frame the code runs
 * (`frame`). Returns whether it has stepped. */
bool jump_frame_step(struct walk_run *run, const struct jump_frame *frame,
		     const struct object *object);

#endif
