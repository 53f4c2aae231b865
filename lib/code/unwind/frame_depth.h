/* SPDX-License-Identifier: MIT */
/*
 * The size of a function's frame, from its instructions.
 *
 * Call frame information of functions with a frame pointer counts from that register alone. While
 * an exception is thrown its value is lost (eh_return.h), and the stack pointer is known. Most such
 * functions have a frame of one size wherever they call: the instructions are followed from the
 * function's entry, and if all calls whose depth is known have the same, and nothing else moves the
 * stack pointer, then it holds at each call, also behind landing pads, to which no jump leads.
 */
#ifndef UNWIND_FRAME_DEPTH_H
#define UNWIND_FRAME_DEPTH_H

#include <stdint.h>

#include "cfi/cfi_index.h"
#include "elf/elf_file.h"

/* Returns the distance of the CFA from the stack pointer at a function's calls, or 0 if it is not
 * known. `vaddr` is in the function, which `index` has. Reads 16 KiB of code at most. */
int32_t frame_depth_of(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr);

#endif
