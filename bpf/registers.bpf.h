/* SPDX-License-Identifier: GPL-2.0-only */
/* Fills in the registers of user mode with which a walk begins. */
#ifndef REGISTERS_BPF_H
#define REGISTERS_BPF_H

#include "probed.bpf.h"
#include "scratch.bpf.h"

#include "../arch/torn_registers.bpf.h"

/*
 * Returns whether exec has made a task give up its program's memory, although the task does not
 * have the new memory yet. This lasts some microseconds. A child of vfork() then lets its parent
 * continue, which overwrites the stack that they shared; vfork_done, which marks the waiting
 * parent, is already cleared. A process that still has other threads has not reached that point of
 * exec.
 */
static __always_inline bool has_left_memory(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD(task, in_execve) && !BPF_CORE_READ(task, vfork_done) &&
	       BPF_CORE_READ(task, signal, live.counter) <= 1 &&
	       BPF_CORE_READ(task, mm, mm_users.counter) > 1;
}

/* As take_saved_registers(), with the program counter that was saved. */
static __always_inline __u32 saved_registers(struct scratch *s, struct task_struct *task)
{
	struct pt_regs *regs = &s->saved;
	const struct pt_regs *saved;

	if ((task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) || !task->mm)
		return STACKD_IN_KERNEL;
	if (has_left_memory(task))
		return STACKD_IN_KERNEL;
	saved = (const struct pt_regs *)bpf_task_pt_regs(task);
	if (bpf_probe_read_kernel(regs, sizeof(*regs), saved) || !ARCH_IS_USER(regs))
		return STACKD_IN_KERNEL;
	arch_take_regs(&s->record.regs, regs);
	leave_handling(s);
	return STACKD_IN_KERNEL | STACKD_HAS_REGS | (ARCH_IS_32BIT(regs) ? STACKD_COMPAT : 0);
}

/*
 * In a system call, the saved program counter is behind the instruction that makes the call. If
 * that is the last instruction of its function, another function begins there, or none. So the
 * program counter is set to the instruction, which has the same rules. Sets s->call_bytes to its
 * length, if the thread is in a system call.
 */
static __always_inline void stand_at_call(struct scratch *s, __u32 flags)
{
	struct stackd_regs *regs = &s->record.regs;

	if (!(flags & STACKD_HAS_REGS) || !ARCH_IS_IN_CALL(&s->saved) ||
	    regs->r[STACKD_REG_PC] != PT_REGS_IP(&s->saved) ||
	    ((flags & STACKD_COMPAT) && !follows_32bit_call(regs->r[STACKD_REG_PC])))
		return;
	s->call_bytes = ARCH_CALL_BYTES;
	regs->r[STACKD_REG_PC] -= ARCH_CALL_BYTES;
}

/* Fills in the user registers that were saved at the entry into the kernel. Returns the flags for
 * the record: STACKD_IN_KERNEL, and those of the registers if there are any. */
static __always_inline __u32 take_saved_registers(struct scratch *s, struct task_struct *task)
{
	__u32 flags = saved_registers(s, task);

	stand_at_call(s, flags);
	return flags;
}

/* Fills in the user registers: those of the sample, or those that were saved at the entry into the
 * kernel. Returns the flags for the record. */
static __always_inline __u32 take_registers(struct scratch *s, struct bpf_perf_event_data *ctx,
					    struct task_struct *task)
{
	__u32 flags;

	s->at_breakpoint = s->call_bytes = 0;
	if (ARCH_IS_USER(&ctx->regs)) {
		arch_take_regs(&s->record.regs, &ctx->regs);
		return STACKD_HAS_REGS | (ARCH_IS_32BIT(&ctx->regs) ? STACKD_COMPAT : 0);
	}
	flags = saved_registers(s, task);
	if ((flags & (STACKD_HAS_REGS | STACKD_COMPAT)) == STACKD_HAS_REGS)
		mend_torn_registers(s->record.regs.r, s->signal_frame, &s->saved);
	stand_at_call(s, flags);
	return flags;
}

#endif
