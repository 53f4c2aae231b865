/* SPDX-License-Identifier: MIT */
/*
 * Implements the functions of struct lbr_code for real files: reads functions' ranges from call
 * frame information, decodes the instructions at both ends of a branch, and follows the jumps that
 * lead out of a function.
 *
 * One object serves all processes of an object table: its results are cached by file and offset.
 * Files that a profiled process controls are read with limits: at most LBR_CODE_MAX_BYTES of a
 * function are scanned, and the cache is emptied at LBR_CODE_MAX_FUNCTIONS functions.
 */
#ifndef LBR_LBR_CODE_H
#define LBR_LBR_CODE_H

#include "lbr/lbr.h"
#include "unwind/dwarf_walk.h"

#define LBR_CODE_MAX_BYTES     65536
#define LBR_CODE_MAX_FUNCTIONS 32768

struct lbr_code_files;

/* `walk`, which is borrowed, gives the functions' ranges. Returns 0 or -ENOMEM. */
int lbr_code_new(struct dwarf_walk *walk, struct lbr_code_files **ret_files);
void lbr_code_free(struct lbr_code_files *files);

/* The view of one process, for one call of lbr_reconstruct() or lbr_replay(): `in` has its
 * mappings, and the sample's registers and stack, if any (stack_bytes 0: none). Both members are
 * borrowed, and must outlive the call. */
struct lbr_code_view {
	struct lbr_code_files *files;
	const struct walk_input *in;
};

/* Returns the functions for struct lbr_input, with `view` as their argument. */
struct lbr_code lbr_code_of(struct lbr_code_view *view);

/* Walks the sample's stack with dwarf_walk_stack(), and gives the frames in the form of lbr_input's
 * `walked`. `frames` has room for `max`. */
enum stackd_end_reason lbr_code_walk(struct lbr_code_view *view, struct lbr_walked *frames,
				     size_t max, size_t *ret_count);

#endif
