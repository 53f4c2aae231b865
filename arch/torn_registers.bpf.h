/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mend_torn_registers(r, frame, saved) gives the stack pointer the value that belongs to the
 * program counter. A sample within the delivery of a signal, or within the return from its handler,
 * can find the two from different contexts. The value is 0 if it cannot be found. `frame` has room
 * for ARCH_SIGNAL_WORDS words; `saved` has the user registers as they were saved at the entry into
 * the kernel. The file that includes this has included scratch.bpf.h and code.bpf.h.
 */
#ifndef ARCH_TORN_REGISTERS_BPF_H
#define ARCH_TORN_REGISTERS_BPF_H

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "x86_64/torn_registers.bpf.h"
#endif

#endif
