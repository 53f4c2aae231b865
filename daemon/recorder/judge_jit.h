/* SPDX-License-Identifier: MIT */
/*
 * Judges walks through JIT code (--judge) by evidence that walks do not use.
 *
 * The daemon makes all such walks, so there is no second walk to compare them with. But:
 *
 *   - Code that maintains frame pointers links its frames in a chain, which begins at the sample's
 *     frame pointer. A walk that passes over a link whose return address lies in JIT code has left
 *     out a caller.
 *   - Where code at a return address maintains a frame pointer, its stack pointer at that call is
 *     always the same distance below it, and the links of chains show that distance. This
 *     recognises a leaf that has not set up its frame yet: the word on top of the stack is a return
 *     address at that distance below the frame pointer, which is still the caller's.
 *   - Whether a leaf has set up its frame depends on its address alone. So if *all* samples at an
 *     address (AT_LEAST of them) look as if it had none, it has none, and a walk by the frame
 *     pointer skips the caller. If only some look so, old words on the stack are the cause.
 *   - If the caller's code calls the function of the frame below directly, the step is right
 *     (caller_check.h).
 *
 * A step out of JIT code is *right* if one of these proves it, and *wrong* if one contradicts it (a
 * walk that leaves out a link has one wrong step). Else it is *nearest* if no word of the stack
 * between the two frames is a return address, so that no caller is left out, and *unproven* if one
 * is. Code is judged by the bytes of the sample (code_windows.h); a return address in it must
 * follow a call. This does not judge direct calls of another function, since the path ends before
 * such a step.
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

/* `window` gives code by `arg`, which is borrowed. 0 or -ENOMEM. */
int judge_jit_new(runtime_code_window_fn *window, void *arg, struct judge_jit **ret_judge);
void judge_jit_free(struct judge_jit *judge); /* NULL is fine */

/* A walk; all borrowed for the call. */
struct judge_jit_walk {
	const struct walk_input *in;
	const struct walk_frame *frames; /* leaf first: those that are kept */
	const bool *is_confirmed;	 /* for each frame: its caller is known to call it */
	size_t count;
};

/* Judges the steps of a walk that lead out of JIT code. Without memory, it keeps less evidence. */
void judge_jit_take(struct judge_jit *judge, const struct judge_jit_walk *walk);

struct judge_jit_counts {
	uint64_t right, wrong, nearest, unproven; /* steps */
};

/* Returns the counts so far. `wrong` shrinks when a later sample at a leaf's address differs. */
struct judge_jit_counts judge_jit_counts(const struct judge_jit *judge);

#endif
