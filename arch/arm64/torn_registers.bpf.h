/* SPDX-License-Identifier: GPL-2.0-only */
/* The signal frame of arm64 while the kernel writes or removes it; see ../torn_registers.bpf.h. */
#ifndef ARCH_ARM64_TORN_REGISTERS_BPF_H
#define ARCH_ARM64_TORN_REGISTERS_BPF_H

/*
 * When a handler returns, rt_sigreturn restores x0 to x30, sp and pc in this order. Until x8, which
 * had its number, is restored, the registers are as good as the handler's. From then on until pc is
 * restored, all of them are taken from the signal's frame, if it is still at the stack pointer, and
 * its first registers are those that were restored. Else the stack pointer becomes 0, where nothing
 * can be read, so the path ends with a mark.
 */
static __always_inline void mend_torn_registers(__u64 *r, __u64 *frame, const struct pt_regs *saved)
{
	if (ARCH_SYSTEM_CALL(saved) != ARCH_CALL_SIGRETURN || r[8] == ARCH_CALL_SIGRETURN ||
	    !is_behind_sigreturn(r[STACKD_REG_PC]))
		return;
	if (bpf_probe_read_user(frame, ARCH_SIGNAL_WORDS * sizeof(*frame),
				(const void *)(r[STACKD_REG_SP] + ARCH_SIGCONTEXT)) ||
	    frame[0] != r[0] || frame[1] != r[1] || frame[8] != r[8]) {
		r[STACKD_REG_SP] = 0;
		return;
	}
	for (int i = 0; i < ARCH_SIGNAL_WORDS; i++)
		r[i] = frame[i];
}

#endif
