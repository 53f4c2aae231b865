/* SPDX-License-Identifier: GPL-2.0-only */
/* The signal frame of arm64 while the kernel writes or removes it; see ../torn_registers.bpf.h. */
#ifndef ARCH_ARM64_TORN_REGISTERS_BPF_H
#define ARCH_ARM64_TORN_REGISTERS_BPF_H

/*
 * When a handler returns, the kernel restores all registers one after the other, from x0 to sp, pc;
 * when it delivers a signal, it sets x29, sp and pc, and x30 last. Which of them are the handler's
 * cannot be told from the frame alone. While rt_sigreturn is under way, the stack pointer becomes
 * 0, where nothing can be read, so the path ends with a mark, unless no register was restored yet:
 * then the program counter is behind the system call, and the stack pointer at the frame, whose
 * registers differ from the present ones.
 */
static __always_inline void mend_torn_registers(__u64 *r, __u64 *frame, const struct pt_regs *saved)
{
	if (ARCH_SYSTEM_CALL(saved) != ARCH_CALL_SIGRETURN)
		return;
	if (!is_behind_sigreturn(r[STACKD_REG_PC]) ||
	    bpf_probe_read_user(frame, ARCH_SIGNAL_WORDS * sizeof(*frame),
				(const void *)(r[STACKD_REG_SP] + ARCH_SIGCONTEXT)) ||
	    frame[STACKD_REG_SP] == r[STACKD_REG_SP])
		r[STACKD_REG_SP] = 0;
}

#endif
