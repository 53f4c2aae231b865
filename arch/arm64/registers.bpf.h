/* SPDX-License-Identifier: GPL-2.0-only */
/* Registers of arm64 as Linux keeps them; see ../arch.bpf.h. */
#ifndef ARCH_ARM64_REGISTERS_BPF_H
#define ARCH_ARM64_REGISTERS_BPF_H

#include <bpf/bpf_tracing.h>
#include <linux/bpf_perf_event.h>
#include <linux/types.h>
#include <stdbool.h>

#include "../../bpf/stackd_abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* The beginning of what the kernel saves at its entry. It begins with struct user_pt_regs, which is
 * all that a program of perf events or probes gets. */
struct pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
	__u64 orig_x0;
	__s32 syscallno; /* -1: none */
	__u32 unused;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
};

#pragma clang attribute pop

#define PSTATE_MODE  0xf /* 0: user mode */
#define PSTATE_32BIT 0x10

#define ARCH_PARM6(context)    (((const struct user_pt_regs *)(context))->regs[5])
#define ARCH_PARMS	       6 /* of eight */
#define ARCH_SYSTEM_CALL(regs) ((regs)->syscallno)
#define ARCH_IS_USER(regs)     (!((regs)->pstate & PSTATE_MODE))
#define ARCH_IS_32BIT(regs)    (((regs)->pstate & PSTATE_32BIT) != 0)
#define ARCH_IS_FAULT(regs)    ((regs)->syscallno == -1)
/* The system call's number is in x8, too, which exec clears. rt_sigreturn has its number until all
 * registers were restored. Its call is the last instruction of a function, so it is recognised
 * before the kernel has noted it, as well. */
#define ARCH_IS_IN_CALL(saved)                                                                     \
	(!ARCH_IS_32BIT(saved) &&                                                                  \
	 ((saved)->regs[8] == ARCH_CALL_SIGRETURN                                                  \
		  ? is_behind_sigreturn((saved)->pc)                                               \
		  : (saved)->syscallno >= 0 && (saved)->regs[8] == (__u64)(saved)->syscallno))
#define ARCH_CALL_BYTES		  4
#define ARCH_THREAD_POINTER(task) ((task)->thread.uw.tp_value)

#define ARCH_CALL_POLL	    (-1) /* there is none */
#define ARCH_CALL_MMAP	    222
#define ARCH_CALL_BRK	    214
#define ARCH_CALL_SIGRETURN 139
#define ARCH_CALL_FUTEX	    98
#define ARCH_CALL_PPOLL	    73

/* `from` is a struct pt_regs or user_pt_regs. */
#define arch_take_regs(to, from) arch_take_user_regs(to, (const struct user_pt_regs *)(from))

static __always_inline void arch_take_user_regs(struct stackd_regs *to,
						const struct user_pt_regs *from)
{
#pragma unroll
	for (int i = 0; i < 31; i++)
		to->r[i] = from->regs[i];
	to->r[STACKD_REG_SP] = from->sp;
	to->r[STACKD_REG_PC] = from->pc;
}

#define PSTATE_N 0x80000000u
#define PSTATE_Z 0x40000000u
#define PSTATE_C 0x20000000u
#define PSTATE_V 0x10000000u

/* Returns whether a branch with this condition jumps; they are numbered as in b.cond. */
static __always_inline bool arch_holds_condition(const void *regs, __u32 condition)
{
	__u64 flags = ((const struct user_pt_regs *)regs)->pstate;
	bool n = flags & PSTATE_N, z = flags & PSTATE_Z, c = flags & PSTATE_C, v = flags & PSTATE_V;
	bool is;

	switch (condition >> 1 & 7) {
	case 0:
		is = z;
		break;
	case 1:
		is = c;
		break;
	case 2:
		is = n;
		break;
	case 3:
		is = v;
		break;
	case 4:
		is = c && !z;
		break;
	case 5:
		is = n == v;
		break;
	case 6:
		is = n == v && !z;
		break;
	default:
		return true;
	}
	return is != (condition & 1);
}

#endif
