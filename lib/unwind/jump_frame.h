/* SPDX-License-Identifier: MIT */
/*
 * Frames of code that is entered by jumps, and not by calls: programs of GHC.
 *
 * Haskell code never moves the stack pointer, but around calls of C, whose stack it has to align.
 * It runs in the frame of StgRun (rts/StgCRun.c of GHC), which jumps to it and is called by the
 * scheduler. StgRun's call frame information says so: the CFA is its own rsp, and rsp an
 * expression, which compilers never make. What it says holds for all code that it jumps to. It is
 * applied to code of the same file of which nothing else is known, and holds if it leads to the
 * return address of a direct call of that very function.
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

/* Steps from code of an object to that function's caller. Returns whether it did. */
bool jump_frame_step(struct walk_run *run, const struct jump_frame *frame,
		     const struct object *object);

#endif
