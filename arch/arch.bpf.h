/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel half of arch.h: registers as the kernel keeps them. All else that depends on the
 * processor is in the headers code.bpf.h, torn_registers.bpf.h, probes.bpf.h and beam.bpf.h of this
 * folder. They are parts of one program, stackd.bpf.c: headers of bpf/ include them after the
 * declarations that they need.
 *
 * struct pt_regs is read with libbpf's PT_REGS_IP(), _SP(), _RC() and _PARM1() to _PARM5(), which
 * are lvalues, so that each can be read by itself with bpf_probe_read_kernel(). Besides these:
 *
 *   ARCH_PARM6(regs)          the sixth argument of a call
 *   ARCH_PARMS                arguments of a call that are in registers, six at most
 *   ARCH_SYSTEM_CALL(regs)    the number of the system call that a thread is in, an lvalue
 *   ARCH_IS_USER(regs)        whether these are registers of user mode
 *   ARCH_IS_32BIT(regs)       whether the thread runs 32-bit code
 *   ARCH_IS_FAULT(regs)       whether these were saved at a fault or interrupt, not a system call
 *   ARCH_IS_IN_CALL(regs)     whether these were saved at a system call, and the program counter is
 *                             still the one behind it (of 32-bit code, it may be another one)
 *   ARCH_CALL_BYTES           length of the instruction that makes a system call
 *   ARCH_THREAD_POINTER(task) the thread pointer of a task that does not run, or of the current one
 *   ARCH_CALL_...             numbers of system calls: MMAP, BRK, POLL, PPOLL, FUTEX, SIGRETURN
 *   arch_take_regs(to, from)  fills in struct stackd_regs
 *   arch_holds_condition(regs, condition)   whether a conditional branch jumps with these
 *                             registers; its condition is numbered as STACKD_EXIT_BRANCH says
 */
#ifndef ARCH_BPF_H
#define ARCH_BPF_H

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "x86_64/registers.bpf.h"
#elif defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "arm64/registers.bpf.h"
#endif

#endif
