/* SPDX-License-Identifier: MIT */
/*
 * Finds the frame that code sets up before it jumps to other code, which runs in that frame.
 *
 * Some runtimes (Guile's) have code without functions: C calls a piece of code that saves registers
 * and jumps on. All other code is reached by jumps from that piece, and runs in its frame.
 */
#ifndef ANALYSIS_ENTRY_FRAME_H
#define ANALYSIS_ENTRY_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "stackd_abi.h"

/* Follows the code of a file from the start of a function (vaddr) to an indirect jump, over at most
 * ENTRY_FRAME_INSTRUCTIONS. Returns true if that code sets up a frame and reaches the jump without
 * any branch, call or return. Then *ret_rule is the rule for `vaddr`, which is in that code or in
 * code to which it jumps. */
bool entry_frame_find(const struct elf_file *file, uint64_t start, uint64_t vaddr,
		      struct stackd_rule *ret_rule);

#define ENTRY_FRAME_INSTRUCTIONS 64 /* chosen by hand */

#endif
