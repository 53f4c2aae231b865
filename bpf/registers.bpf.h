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

/* Fills in the registers of user mode: the sample's own, or those saved at the entry into the
 * kernel. The flags that say which. */
static __always_inline __u32 take_registers(struct scratch *s, struct bpf_perf_event_data *ctx,
					    struct task_struct *task)
{
	s->at_breakpoint = 0;
	if ((ctx->regs.cs & 3) == 3) {
		regs_from(&s->record.regs, &ctx->regs);
		return STACKD_HAS_REGS | (ctx->regs.cs == USER32_CS ? STACKD_COMPAT : 0);
	}
	return take_saved_registers(s, task);
}

#endif
