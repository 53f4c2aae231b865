/* SPDX-License-Identifier: MIT */
/*
 * A recording's paths as alignment wants them (align/align.h): frames with their routines and
 * heights. What reconstruction and its measurement share.
 *
 * Heights within a stack are counted from the lowest slot of a root frame, so that threads and runs
 * of one program are alike; the store has them from the stack's end (struct origin), so a partial
 * path's are only known where the thread has a whole one too. A leaf has none: its stack pointer
 * moves within the routine.
 */
#ifndef MODEL_ALIGN_INPUT_H
#define MODEL_ALIGN_INPUT_H

#include "align/align.h"
#include "model/names.h"

struct align_input;

/* Both are borrowed. 0 or -ENOMEM. */
int align_input_new(const struct store_tables *tables, struct names *names,
		    struct align_input **ret_input);
void align_input_free(struct align_input *input);

/* Notes where the stack of a sample begins; for all samples, before align_input_path(). */
void align_input_note(struct align_input *input, const struct store_sample *sample);

/* Counts the routines that a path without heights has, and has more than once; for all samples
 * whose paths are asked for, before the first is. For lack of memory it leaves some out. */
void align_input_count(struct align_input *input, const struct store_sample *sample);

/* The frames of a sample's path, root first; they live until the next call. No frame where the
 * path is none that could be completed: it begins in the kernel, or is a tag. 0 or -ENOMEM. */
int align_input_path(struct align_input *input, const struct store_sample *sample,
		     const struct align_frame **ret_frames, uint32_t *ret_count);

/* Whether a sample's path begins at the thread's entry, as the walk found it. */
bool align_input_is_complete(const struct store_sample *sample);

/* Whether the path that align_input_path() has just given does. Frames that are themselves inferred
 * (stitched) are left out of it; and without heights one is cut at its last frame of a routine that
 * calls itself, of which nobody can say which one it is. */
bool align_input_reaches_entry(const struct align_input *input, const struct store_sample *sample);

/* A number for the program that a thread runs. */
uint32_t align_input_program(const struct align_input *input, uint32_t thread);

#endif
