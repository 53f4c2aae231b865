/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mend_torn_registers(r, frame, saved) gives the stack pointer the value that belongs to the
 * program counter. If the sample is taken while the kernel delivers a signal, or returns from its
 * handler, one of the two can be the handler's and the other the interrupted function's. If the
 * right stack pointer cannot be found, it becomes 0. `frame` has room for ARCH_SIGNAL_WORDS words;
 * `saved` has the user registers as they were saved at the entry into the kernel. The file that
 * includes this has included scratch.bpf.h and code.bpf.h.
 */
#ifndef ARCH_TORN_REGISTERS_BPF_H
#define ARCH_TORN_REGISTERS_BPF_H

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "x86_64/torn_registers.bpf.h"
#elif defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "arm64/torn_registers.bpf.h"
#endif

#endif
