/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads code that the JIT compiler of Erlang's virtual machine makes, for bpf/runtime_beam.bpf.h,
 * which includes this. Each processor defines:
 *
 *   BEAM_REGISTERS_REG  the register that points to the scheduler's registers, above C's frames
 *   BEAM_PROCESS_REG    the register that points to the process's structure
 *   begins_main(code)   whether these first bytes of code can be those of process_main
 *   frame_ahead(s, pc)  the size in bytes of the frame at pc, found in the code from pc on; 0:
 *                       unknown
 *   last_change(s)      the last change to the frame in the code before the walk's pc: by how many
 *                       bytes it was enlarged, POINTER_SET, FRAME_GONE; 0: none was found
 *   leaves_frame(s, pc) whether the code at pc releases its function's frame before it makes one
 *   is_frameless(s, pc) whether the function has no frame at pc, where it was interrupted
 *   way_back(s)         how the code at the walk's pc gets back to the process's stack
 */
#ifndef ARCH_BEAM_BPF_H
#define ARCH_BEAM_BPF_H

#define BEAM_FRAME 8320 /* bytes of a frame, at most: 1,024 slots and a few more */

/* Results of last_change() */
#define POINTER_SET 1 /* the frame pointer was set */
#define FRAME_GONE  2 /* the frame was released, or a function begins */

enum way_back {
	BACK_NOT,
	BACK_BY_POINTER,   /* from the frame pointer */
	BACK_BY_PROCESS,   /* from the process's structure */
	BACK_WITH_POINTER, /* from the structure, which has the frame pointer, too */
	BACK_NO_PROCESS,
};

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "x86_64/beam.bpf.h"
#elif defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "arm64/beam.bpf.h"
#endif

#endif
