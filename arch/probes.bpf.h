/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Undoes what a kernel's uprobe does to a thread that is stopped within the probe. probed.bpf.h
 * includes this file in its middle, after the function that searches the list of replaced return
 * addresses. A slot is where a return address was before the kernel replaced it by the address of
 * the trampoline of return probes. For each processor:
 *
 *   ARCH_UNDOES_PROBES   0: it undoes none of this
 *   slot_above(at)    how far above the stack pointer the returning function's slot is, for a
 *                     thread at byte `at` of the trampoline of return probes
 *   find_left(s, probed, at, slot)
 *                     the true return address of a thread in that trampoline; 0: it is not known
 *   leave_call(s, probed, trampoline)
 *                     takes a thread out of the trampoline's system call, which has begun to change
 *                     its registers. Returns 1 if it has done so
 *   leave_call_instruction(regs)
 *                     undoes a call that the kernel emulates at a breakpoint: it has pushed, but
 *                     not jumped yet. Returns 1 if it has done so
 *   is_pushed_register(regs, word)
 *                     whether a push that the kernel emulates can have written a word
 *   leave_probe_call(task, pc, sp), leave_half_called(regs)
 *                     take a thread out of the trampoline of an optimised probe (6.18), back to the
 *                     no-op that the probe replaced. Return true if they have done so
 */
#ifndef ARCH_PROBES_BPF_H
#define ARCH_PROBES_BPF_H

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "x86_64/probe_call.bpf.h"
#include "x86_64/return_probe.bpf.h"
#elif defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "arm64/probes.bpf.h"
#endif

#endif
