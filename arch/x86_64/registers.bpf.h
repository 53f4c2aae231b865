/* SPDX-License-Identifier: GPL-2.0-only */
/* Registers of x86-64 as Linux keeps them; see ../arch.bpf.h. */
#ifndef ARCH_X86_64_REGISTERS_BPF_H
#define ARCH_X86_64_REGISTERS_BPF_H

#include <bpf/bpf_tracing.h>
#include <linux/bpf_perf_event.h>
#include <linux/types.h>
#include <stdbool.h>

#include "../../bpf/stackd_abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_struct {
	unsigned long fsbase;
};

#pragma clang attribute pop

#define ARCH_PARM6(regs)       ((regs)->r9)
#define ARCH_PARMS	       6
#define ARCH_SYSTEM_CALL(regs) ((regs)->orig_rax)
#define ARCH_IS_USER(regs)     (((regs)->cs & 3) == 3)
#define ARCH_IS_32BIT(regs)    ((regs)->cs == 0x23)
#define ARCH_IS_FAULT(regs)    ((__s64)(regs)->orig_rax == -1) /* its error code was taken out */
/* syscall puts the address behind it into rcx, too. Where the kernel sets the program counter, for
 * a signal's handler or a new program, it leaves or clears rcx. */
#define ARCH_IS_IN_CALL(regs)                                                                      \
	((__s64)(regs)->orig_rax >= 0 && ((regs)->rcx == (regs)->rip || ARCH_IS_32BIT(regs)))
#define ARCH_CALL_BYTES		  2
#define ARCH_THREAD_POINTER(task) ((task)->thread.fsbase)

#define ARCH_CALL_POLL	    7
#define ARCH_CALL_MMAP	    9
#define ARCH_CALL_BRK	    12
#define ARCH_CALL_SIGRETURN 15
#define ARCH_CALL_FUTEX	    202
#define ARCH_CALL_PPOLL	    271

static __always_inline void arch_take_regs(struct stackd_regs *to, const struct pt_regs *from)
{
	to->r[0] = from->rax;
	to->r[1] = from->rdx;
	to->r[2] = from->rcx;
	to->r[3] = from->rbx;
	to->r[4] = from->rsi;
	to->r[5] = from->rdi;
	to->r[6] = from->rbp;
	to->r[7] = from->rsp;
	to->r[8] = from->r8;
	to->r[9] = from->r9;
	to->r[10] = from->r10;
	to->r[11] = from->r11;
	to->r[12] = from->r12;
	to->r[13] = from->r13;
	to->r[14] = from->r14;
	to->r[15] = from->r15;
	to->r[16] = from->rip;
}

/* Returns whether a branch with this condition jumps. */
static __always_inline bool arch_holds_condition(const struct pt_regs *regs, __u32 condition)
{
	__u64 flags = regs->eflags;
	bool carry = flags & 1, parity = flags & 4, zero = flags & 0x40, sign = flags & 0x80;
	bool overflow = flags & 0x800, is = false;

	switch (condition >> 1 & 7) {
	case 0:
		is = overflow;
		break;
	case 1:
		is = carry;
		break;
	case 2:
		is = zero;
		break;
	case 3:
		is = carry || zero;
		break;
	case 4:
		is = sign;
		break;
	case 5:
		is = parity;
		break;
	case 6:
		is = sign != overflow;
		break;
	default:
		is = zero || sign != overflow;
	}
	return is != (condition & 1);
}

#endif
