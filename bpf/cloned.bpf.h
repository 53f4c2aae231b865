/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that clone() has just made.
 *
 * Where calls leave the return address in a register (ARCH_HAS_LINK), a new thread has its
 * creator's there, and a C library's call frame information says for the few instructions behind
 * the system call what holds for the creator: its caller. The new thread's stack begins there.
 *
 * The file that includes this has included arch/code.bpf.h.
 */
#ifndef CLONED_BPF_H
#define CLONED_BPF_H

/* Returns whether clone() has just made the current thread, and the thread is still in these
 * instructions, so that its stack begins in this frame. `r`: its registers. `call_bytes`: those
 * from its program counter to the address behind the system call that it is in. */
static __always_inline bool is_just_cloned(const __u64 *r, __u32 call_bytes)
{
	const struct task_struct *task;

	if (!ARCH_HAS_LINK || r[ARCH_RESULT_REG] || !r[STACKD_REG_SP])
		return false;
	task = bpf_get_current_task_btf();
	return task->pid != task->tgid && follows_clone(r, r[STACKD_REG_PC] + call_bytes);
}

#endif
