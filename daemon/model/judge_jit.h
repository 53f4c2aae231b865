/* SPDX-License-Identifier: MIT */
/*
 * Judges walks through code that processes have made (--judge), by evidence that walks do not
 * use.
 *
 * All such walks are the daemon's, so there is no second walk to compare them with. But:
 *
 *   - Code that keeps frame pointers has them in a chain, from the sample's frame pointer on. A
 *     walk that goes past a link of it, whose return address lies in made code, has left a caller
 *     out.
 *   - Where code at a return address keeps a frame pointer, its stack pointer at that call is
 *     always as far below it: the links of chains tell by how much. So a leaf that has not made its
 *     frame is recognised: the word on top of the stack is a return address at that distance
 *     below the frame pointer, which is the caller's.
 *   - Whether a leaf has made its frame depends on its address alone. So one that looks as if it
 *     had none, in *all* samples at its address (AT_LEAST of them), has none: a walk by the frame
 *     pointer skips the caller. In some of them only, old words on the stack look so.
 *   - If the caller's code calls the function of the frame below directly, the step is right
 *     (caller_check.h).
 *
 * A step out of made code is *right* if one of these proves it, *wrong* if one contradicts it (of a
 * walk that leaves a link out, one step), else *nearest* if no word of the stack between the two
 * frames is a return address, so that no caller is left out, and else *unproven*. Code is what the
 * sample had (code_windows.h); a return address in it follows a call. A direct call of another
 * function is no matter of this judge: the path ends before such a step.
 */
#ifndef MODEL_JUDGE_JIT_H
#define MODEL_JUDGE_JIT_H

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
	const bool *is_confirmed;	 /* by frame: its caller is known to call it */
	size_t count;
};

/* Judges the steps of a walk that lead out of made code. Lack of memory: it knows less. */
void judge_jit_take(struct judge_jit *judge, const struct judge_jit_walk *walk);

struct judge_jit_counts {
	uint64_t right, wrong, nearest, unproven; /* steps */
};

/* The counts so far. What is wrong by leaves that all look alike can be fewer later. */
struct judge_jit_counts judge_jit_counts(const struct judge_jit *judge);

#endif
