/* SPDX-License-Identifier: MIT */
/*
 * The frame that code makes before it jumps to other code, which is to run in it.
 *
 * The code of some runtimes (Guile's) has no functions that are called: C calls a piece of code
 * that saves registers and jumps, and all code jumps on from there, with that frame.
 */
#ifndef ANALYSIS_ENTRY_FRAME_H
#define ANALYSIS_ENTRY_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "stackd_abi.h"

/* Follows the code of a file from the start of a function (vaddr) to an indirect jump, at most
 * ENTRY_FRAME_INSTRUCTIONS. Returns whether it makes a frame, and comes to one without any branch,
 * call or return: then *ret_rule is the rule at `vaddr`, within that code, or in what it jumps to.
 */
bool entry_frame_find(const struct elf_file *file, uint64_t start, uint64_t vaddr,
		      struct stackd_rule *ret_rule);

#define ENTRY_FRAME_INSTRUCTIONS 64

#endif
