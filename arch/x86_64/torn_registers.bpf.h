/* SPDX-License-Identifier: GPL-2.0-only */
/* The signal frame of x86-64 while the kernel writes or removes it; see ../torn_registers.bpf.h. */
#ifndef ARCH_X86_64_TORN_REGISTERS_BPF_H
#define ARCH_X86_64_TORN_REGISTERS_BPF_H

#define SIGCONTEXT_RSP 168 /* offset in a signal frame; rip, flags and segments follow */
#define USER_SEGMENTS  0x002b000000000033ull

/*
 * The kernel replaces a thread's registers one by one when it delivers a signal, and when the
 * handler returns. A sample in between has rsp of one context and rip of the other. If rsp points
 * to the signal frame and rip is the interrupted function's, rsp is taken from the frame, which has
 * the same rip. If rsp is the interrupted function's and rip is still that of the return from the
 * handler, the frame cannot be found any more. Then rsp is set to 0, where nothing can be read, so
 * the path ends with a mark of a missing root.
 */
static __always_inline void mend_torn_registers(__u64 *r, __u64 *frame, const struct pt_regs *saved)
{
	if (bpf_probe_read_user(frame, ARCH_SIGNAL_WORDS * sizeof(*frame),
				(const void *)(r[STACKD_REG_SP] + SIGCONTEXT_RSP - 8))) {
		/* There is no readable signal frame. If rip is still at the end of a handler, rsp
		 * is the interrupted function's already. */
		if (ARCH_SYSTEM_CALL(saved) == ARCH_CALL_SIGRETURN &&
		    is_behind_sigreturn(r[STACKD_REG_PC]))
			r[STACKD_REG_SP] = 0;
		return;
	}
	if (frame[2] == r[STACKD_REG_PC] && frame[4] == USER_SEGMENTS) {
		r[STACKD_REG_SP] = frame[1];
		return;
	}
	/* If the handler has returned, it has popped the frame's first word, so all words are one
	 * index lower. */
	if (ARCH_SYSTEM_CALL(saved) != ARCH_CALL_SIGRETURN)
		return;
	if (frame[3] != USER_SEGMENTS && is_behind_sigreturn(r[STACKD_REG_PC]))
		r[STACKD_REG_SP] = 0;
	else if (frame[3] == USER_SEGMENTS && frame[1] == r[STACKD_REG_PC])
		r[STACKD_REG_SP] = frame[0];
}

#endif
