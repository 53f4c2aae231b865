/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The program's instructions in memory, as far as the kernel half reads them. For each processor:
 *
 *   follows_call(ra)      whether the bytes before an address are a call
 *   behind_stub(pc)       where the linkage stub at pc jumps to; pc itself: there is none
 *   is_call_of(ra, pc)    whether the direct call before ra leads to the function that begins at pc
 *   at_return(pc)         whether a function returns at pc, all of its frame being gone
 *   leaf_at(pc)           how much of a frame is made there: enum stackd_leaf
 *   follows_clone(pc)     whether pc is behind a system call, or on the way from clone() in the new
 *                         thread
 *   is_handler_return(pc) whether the code that handlers return to begins at pc
 *   is_behind_sigreturn(pc)   whether that code ends there
 *
 * The includer has scratch.bpf.h.
 */
#ifndef ARCH_CODE_BPF_H
#define ARCH_CODE_BPF_H

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "x86_64/code.bpf.h"
#endif

#endif
