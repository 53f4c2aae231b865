/* SPDX-License-Identifier: MIT */
/*
 * Turns the paths of a recording into the input of alignment (align/align.h): frames with their
 * routines and heights. Reconstruction and `align --compare` share it.
 *
 * The store keeps heights in bytes below the stack's end (struct origin). Here they are counted
 * from the root frame that is nearest to the stack's end, so that threads and runs of one program
 * agree. The heights of a partial path are therefore known only where its thread has a complete
 * path as well. A leaf has no height, because its stack pointer moves within the routine.
 */
#ifndef MODEL_ALIGN_INPUT_H
#define MODEL_ALIGN_INPUT_H

#include "align/align.h"
#include "model/names.h"

struct align_input;

/* Makes an input that has no samples yet. `tables` and `names` are borrowed and must outlive it.
 * Returns 0 or -ENOMEM. */
int align_input_new(const struct store_tables *tables, struct names *names,
		    struct align_input **ret_input);
void align_input_free(struct align_input *input); /* NULL is allowed */

/* Notes the height of the root frame of a sample's stack. Must be called for every sample of the
 * recording before the first align_input_path(). */
void align_input_note(struct align_input *input, const struct store_sample *sample);

/* Counts the routines of a path without heights, and which of them are in it more than once. Must
 * be called for every sample for which align_input_path() will be called, before the first such
 * call. If memory runs out, the remaining routines of the path are not counted. */
void align_input_count(struct align_input *input, const struct store_sample *sample);

/* Gives the frames of a sample's path, root first, in an array that lives until the next call.
 * *ret_count is 0 for a path that cannot be completed, because it begins in the kernel or is a tag.
 * Returns 0 or -ENOMEM. */
int align_input_path(struct align_input *input, const struct store_sample *sample,
		     const struct align_frame **ret_frames, uint32_t *ret_count);

/* Returns whether the walk of a sample reached the thread's entry. */
bool align_input_is_complete(const struct store_sample *sample);

/* Returns whether the frames that align_input_path() returned last, for this sample, begin at the
 * thread's entry. They do not if stitched frames were left out. Nor do they if a path without
 * heights was cut at its last frame of a recursive routine, since it is unknown which of the
 * recursive calls that frame is. */
bool align_input_reaches_entry(const struct align_input *input, const struct store_sample *sample);

/* Returns a number for the program that a thread runs, which is the same for all processes of one
 * executable. */
uint32_t align_input_program(const struct align_input *input, uint32_t thread);

#endif
