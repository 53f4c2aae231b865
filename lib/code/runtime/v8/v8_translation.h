/* SPDX-License-Identifier: MIT */
/*
 * Decodes translations: what V8 needs to make frames of bytecode of one frame of optimised code.
 * They tell which functions were inlined at a call, each with the offset of its bytecode.
 *
 * A translation is a list of operations, each with a number of operands. The first one begins it,
 * and says how many frames there are, and how many of JavaScript; they come from the outermost one
 * on, and the values of their variables follow each. Operations can be said to be the same as in an
 * earlier translation.
 */
#ifndef V8_V8_TRANSLATION_H
#define V8_V8_TRANSLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame of bytecode. */
struct v8_translation_frame {
	int32_t offset;	  /* of the instruction; negative: before the first one */
	uint32_t literal; /* number of the function among the code's literals */
};

#define V8_TRANSLATION_FORMS 4 /* of versions, from 10.2 on */

/* Decodes the translation at an index of the `len` bytes, in one of the forms. Returns the number
 * of frames, outermost first; 0: it is not right, or has more than `max`. */
size_t v8_translation_frames(unsigned form, const uint8_t *bytes, size_t len, size_t index,
			     struct v8_translation_frame *ret_frames, size_t max);

#endif
