/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads instructions in the program's memory for the kernel half. For each processor:
 *
 *   follows_call(ra)      whether the bytes before an address are a call
 *   behind_stub(pc)       the address to which the linkage stub at pc jumps; pc itself if there is
 *                         no stub
 *   is_call_of(ra, pc)    whether the direct call before ra leads to the function that begins at pc
 *   at_return(pc)         whether a function returns at pc, where its frame is completely released
 *   leaf_at(pc)           which part of the frame is set up at pc: enum stackd_leaf
 *   follows_32bit_call(pc)  whether pc follows a system call of 32-bit code
 *   follows_clone(r, pc)  whether pc follows a system call, or is on the way from clone() in the
 *                         new thread, which has the registers r
 *   is_handler_return(pc) whether the code to which signal handlers return begins at pc
 *   is_behind_sigreturn(pc)   whether that code ends at pc
 *
 * The file that includes this has included scratch.bpf.h.
 */
#ifndef ARCH_CODE_BPF_H
#define ARCH_CODE_BPF_H

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "x86_64/code.bpf.h"
#elif defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "arm64/code.bpf.h"
#endif

#endif
