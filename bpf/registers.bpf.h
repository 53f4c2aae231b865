/* SPDX-License-Identifier: GPL-2.0-only */
/* The registers of user mode that a walk begins with. */
#ifndef REGISTERS_BPF_H
#define REGISTERS_BPF_H

#include "probed.bpf.h"
#include "scratch.bpf.h"

static __always_inline void regs_from(struct stackd_regs *to, const struct pt_regs *from)
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

/*
 * Whether a task has given the memory of its program back: within exec, for some microseconds
 * before it has another. The child of a vfork() lets its parent go on then, which overwrites the
 * stack that they shared, and is no longer marked as waited for. A process that has other threads
 * has not come so far yet.
 */
static __always_inline bool has_left_memory(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD(task, in_execve) && !task->vfork_done &&
	       BPF_CORE_READ(task, signal, live.counter) <= 1 &&
	       BPF_CORE_READ(task, mm, mm_users.counter) > 1;
}

/* Fills in the registers of user mode as they were saved at the entry into the kernel. The flags
 * that say which. */
static __always_inline __u32 take_saved_registers(struct scratch *s, struct task_struct *task)
{
	struct pt_regs *regs = &s->saved;
	const struct pt_regs *saved;

	if ((task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) || !task->mm)
		return STACKD_IN_KERNEL;
	if (has_left_memory(task))
		return STACKD_IN_KERNEL;
	saved = (const struct pt_regs *)bpf_task_pt_regs(task);
	if (bpf_probe_read_kernel(regs, sizeof(*regs), saved) || (regs->cs & 3) != 3)
		return STACKD_IN_KERNEL;
	regs_from(&s->record.regs, regs);
	leave_handling(s);
	return STACKD_IN_KERNEL | STACKD_HAS_REGS | (regs->cs == USER32_CS ? STACKD_COMPAT : 0);
}

/* --- signals ---------------------------------------------------------------------------------- */

#define SIGCONTEXT_RSP 168 /* from a signal frame's start; rip, flags and segments follow */
#define USER_SEGMENTS  0x002b000000000033ull
#define RT_SIGRETURN   15

static __always_inline bool is_behind_sigreturn(__u64 rip)
{
	__u64 code;

	return !bpf_probe_read_user(&code, sizeof(code), (const void *)(rip - sizeof(code) - 1)) &&
	       code == SIGRETURN_CODE;
}

/*
 * The kernel replaces a thread's registers one by one as it delivers a signal, and as the handler
 * returns. A sample between has rsp of the one and rip of the other context. Where rsp points to
 * the signal frame, that has the interrupted function's rsp and the same rip. Where rip is still
 * that of the return from the handler, the frame is not to be found any more: then nothing can be
 * read at rsp, so that the path ends with a mark.
 */
static __always_inline void mend_torn_registers(struct scratch *s)
{
	__u64 *r = s->record.regs.r, *frame = s->signal_frame;

	if (bpf_probe_read_user(frame, sizeof(s->signal_frame),
				(const void *)(r[STACKD_REG_RSP] + SIGCONTEXT_RSP - 8))) {
		/* There is no signal frame, which rip says: rsp is the interrupted function's. */
		if (s->saved.orig_rax == RT_SIGRETURN && is_behind_sigreturn(r[STACKD_REG_RIP]))
			r[STACKD_REG_RSP] = 0;
		return;
	}
	if (frame[2] == r[STACKD_REG_RIP] && frame[4] == USER_SEGMENTS) {
		r[STACKD_REG_RSP] = frame[1];
		return;
	}
	/* The handler has returned: rsp is beyond the first word. */
	if (s->saved.orig_rax != RT_SIGRETURN)
		return;
	if (frame[3] != USER_SEGMENTS && is_behind_sigreturn(r[STACKD_REG_RIP]))
		r[STACKD_REG_RSP] = 0;
	else if (frame[3] == USER_SEGMENTS && frame[1] == r[STACKD_REG_RIP])
		r[STACKD_REG_RSP] = frame[0];
}

/* Fills in the registers of user mode: the sample's own, or those saved at the entry into the
 * kernel. The flags that say which. */
static __always_inline __u32 take_registers(struct scratch *s, struct bpf_perf_event_data *ctx,
					    struct task_struct *task)
{
	__u32 flags;

	s->at_breakpoint = 0;
	if ((ctx->regs.cs & 3) == 3) {
		regs_from(&s->record.regs, &ctx->regs);
		return STACKD_HAS_REGS | (ctx->regs.cs == USER32_CS ? STACKD_COMPAT : 0);
	}
	flags = take_saved_registers(s, task);
	if ((flags & (STACKD_HAS_REGS | STACKD_COMPAT)) == STACKD_HAS_REGS)
		mend_torn_registers(s);
	return flags;
}

#endif
