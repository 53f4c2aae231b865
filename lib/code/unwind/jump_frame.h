/* SPDX-License-Identifier: MIT */
/*
 * Frames of code that is entered by jumps, and not by calls: programs of GHC.
 *
 * Haskell code never moves the stack pointer, but around calls of C, whose stack it has to align.
 * It runs in the frame of StgRun (rts/StgCRun.c of GHC), which jumps to it and is called by the
 * scheduler. StgRun's call frame information says so: the CFA is its own stack pointer, and the
 * stack pointer an expression, which compilers never make. What it says holds for all code that it
 * jumps to. It is applied to code of the same file of which nothing else is known, and holds if it
 * leads to the return address of a direct call of that very function.
 *
 * Traces of LuaJIT, in memory, run in the frame of its interpreter, in which they have only made
 * room for more. The interpreter's call frame information has one rule for all of it, also at the
 * functions by which C enters it: where a call leads to an instruction at which a frame is said to
 * be made already, that is an interpreter. So the stack is searched upwards for such a call.
 */
#ifndef UNWIND_JUMP_FRAME_H
#define UNWIND_JUMP_FRAME_H

#include "cfi/cfi_index.h"
#include "unwind/walk_run.h"

struct jump_frame {	/* zeroed: not looked for */
	bool is_known;	/* it was looked for */
	uint64_t start; /* vaddr of the function whose frame it is; 0: there is none */
	struct walk_rule rule;
};

/* Finds the function of a file by its call frame information. Returns 0 or -ENOMEM; the caller
 * empties *frame with jump_frame_drop(). */
int jump_frame_find(struct jump_frame *frame, const struct cfi_index *index);
void jump_frame_drop(struct jump_frame *frame);

/* The rule at an offset of an object's file; NULL: there is none. */
typedef const struct walk_rule *jump_frame_rule_fn(void *arg, const struct object *object,
						   uint64_t offset);

/* Steps from code made at run time to the caller of the interpreter in whose frame it runs: at most
 * JUMP_FRAME_SEARCHED words above the stack pointer. Returns whether it did. */
bool jump_frame_leave_interpreter(struct walk_run *run, jump_frame_rule_fn *rule_at, void *arg);

#define JUMP_FRAME_SEARCHED 96 /* LuaJIT's own frame has 10, and a trace seldom as many */

/* Steps from code of an object to that function's caller. Returns whether it did. */
bool jump_frame_step(struct walk_run *run, const struct jump_frame *frame,
		     const struct object *object);

#endif
