/* SPDX-License-Identifier: MIT */
/*
 * Judges walks through JIT code (--judge) by evidence that walks do not use.
 *
 * The daemon makes all such walks, so there is no second walk to compare them with. The evidence
 * is:
 *
 *   - Code that maintains frame pointers links its frames in a chain, which begins at the sample's
 *     frame pointer. If a walk passes over a link whose return address lies in JIT code, it has
 * left out a caller.
 *   - If the code at a return address maintains a frame pointer, the stack pointer at that call is
 *     always the same distance below the frame pointer, and the links of chains show that distance.
 *     So a leaf has not set up its frame yet if the word on top of the stack is a return address at
 *     that distance below the frame pointer, which is still the caller's.
 *   - Whether a leaf has set up its frame depends on its address alone. So if *all* samples at an
 *     address (AT_LEAST of them) look as if it had none, it has none, and a walk by the frame
 *     pointer skips the caller. If only some look so, old words on the stack are the cause.
 *   - If the caller's code calls the function of the frame below directly, the step is right
 *     (caller_check.h).
 *
 * A step out of JIT code is *right* if any of this evidence proves it, and *wrong* if any
 * contradicts it (a walk that leaves out a link has one wrong step). Else the step is *nearest* if
 * no word of the stack between the two frames is a return address, so that no caller is left out,
 * and *unproven* if a word is one. Code is judged by its bytes at the sample (code_windows.h), in
 * which a return address must follow a call. A step to a caller that directly calls another
 * function is not judged here, because caller_check.h cuts the path before it.
 */
#ifndef RECORDER_JUDGE_JIT_H
#define RECORDER_JUDGE_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stackd_abi.h"
#include "unwind/dwarf_walk.h"
#include "unwind/runtime_code.h"

#define JUDGE_JIT_AT_LEAST 3

struct judge_jit;

/* `window` gives the bytes of JIT code at a sample; `arg` is its first argument, and borrowed. 0 or
 * -ENOMEM. */
int judge_jit_new(runtime_code_window_fn *window, void *arg, struct judge_jit **ret_judge);
void judge_jit_free(struct judge_jit *judge); /* NULL is fine */

/* A walk; all borrowed for the call. */
struct judge_jit_walk {
	const struct walk_input *in;
	const struct walk_frame *frames; /* leaf first: those that are kept */
	const bool *is_confirmed;	 /* for each frame: its caller is known to call it */
	size_t count;
};

/* Judges and counts those steps of a walk that lead out of JIT code, and learns from its stack.
 * Without memory, it learns less. */
void judge_jit_take(struct judge_jit *judge, const struct judge_jit_walk *walk);

struct judge_jit_counts {
	uint64_t right, wrong, nearest, unproven; /* steps */
};

/* Returns the counts so far. `wrong` shrinks when a later sample at the same leaf address
 * contradicts the earlier ones. */
struct judge_jit_counts judge_jit_counts(const struct judge_jit *judge);

#endif
