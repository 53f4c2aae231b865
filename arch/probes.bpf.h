/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel's probes do to a thread while it is in them, and how that is undone; probed.bpf.h
 * includes this in its midst, behind the search in the list of replaced return addresses. For each
 * processor:
 *
 *   slot_above(at)              how far above the stack pointer the returning function's slot is,
 * by the position in the trampoline of return probes find_left(s, probed, at, slot)  the return
 * address of a thread at that position leave_call(s, probed, trampoline)  a thread within the
 * trampoline's system call, half of whose registers have been changed: 1, done
 *   leave_call_instruction(regs)  a call under a breakpoint that is half executed: 1, done
 *   is_pushed_register(regs, word)  whether a word can be from a push that the kernel executes
 *   leave_probe_call(task, pc, sp), leave_half_called(regs)  optimised probes: whether it was one
 */
#ifndef ARCH_PROBES_BPF_H
#define ARCH_PROBES_BPF_H

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "x86_64/probe_call.bpf.h"
#include "x86_64/return_probe.bpf.h"
#endif

#endif
