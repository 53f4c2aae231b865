/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Undoes what an optimised uprobe does to a thread (Linux 6.18 and later).
 *
 * At a nop of five bytes, such a probe is not a breakpoint but a call of a trampoline, which is in
 * a separate page near enough for a direct call:
 *
 *   0 push %rcx, 1 push %r11, 3 push %rax, 4 mov, 11 syscall, 13 pop %rax, 14 pop %r11,
 *   16 pop %rcx, 17 ret
 *
 * If a thread is stopped in the trampoline, these functions set its registers to what they were at
 * the nop. While the probe's handlers run, the kernel has done that itself in the system call; but
 * it changes the program counter and the stack pointer one after the other, and back, and a sample
 * can come in between.
 */
#ifndef ARCH_X86_64_PROBE_CALL_BPF_H
#define ARCH_X86_64_PROBE_CALL_BPF_H

/* pages of trampolines in a process; each page serves the 4 GiB of code around it */
#define MAX_PROBE_PAGES 8
#define CALL_CODE	0xe8
#define CALL_LENGTH	5
#define PROBE_CALLED	13 /* behind the system call */
#define CALL_WORDS	4  /* on the stack: three registers, and the return address of the call */

/* Returns the address of the trampoline page in which a thread's pc is; 0: it is in none. */
static __always_inline __u64 probe_page_of(struct task_struct *task, __u64 pc)
{
	struct uprobe_trampoline *page; /* its first member is the list's node */

	if (!bpf_core_field_exists(task->mm->uprobes_state.head_tramps))
		return 0;
	page = (void *)BPF_CORE_READ(task, mm, uprobes_state.head_tramps.first);
	for (int i = 0; i < MAX_PROBE_PAGES && page; i++) {
		__u64 start = BPF_CORE_READ(page, vaddr);

		if (pc - start < PAGE_SIZE)
			return start;
		page = (void *)BPF_CORE_READ(page, node.next);
	}
	return 0;
}

/* Returns how far above rsp the return address of the call of the trampoline is, at byte `at` of
 * the trampoline. */
static __always_inline __u64 call_above(__u64 at)
{
	if (at < 1 || at >= 17)
		return 0;
	if (at < 3 || at >= 16)
		return 8;
	return at == 3 || at >= 14 ? 16 : 24;
}

/* Returns the address of the call that has entered the trampoline `page` and pushed the return
 * address in `slot`; 0: there is none. */
static __always_inline __u64 probe_call_of(__u64 slot, __u64 page)
{
	__u8 code[8] = {0}; /* three bytes before the call, and the call's five */
	__u64 ra;

	if (bpf_probe_read_user(&ra, sizeof(ra), (const void *)slot) ||
	    bpf_probe_read_user(code, sizeof(code), (const void *)(ra - sizeof(code))) ||
	    code[3] != CALL_CODE || ra + (__u64)(__s64) * (__s32 *)&code[4] != page)
		return 0;
	return ra - CALL_LENGTH;
}

/* If the thread is in a trampoline of an optimised probe, sets *pc and *rsp to what they were at
 * the nop. At the system call, the kernel may already have moved the stack pointer. Returns whether
 * it has set them. */
static __always_inline bool leave_probe_call(struct task_struct *task, __u64 *pc, __u64 *rsp)
{
	const __u64 page = probe_page_of(task, *pc), at = *pc - page;
	__u64 slot = *rsp + call_above(at), call;

	if (!page)
		return false;
	call = probe_call_of(slot, page);
	if (!call && at == PROBE_CALLED) {
		slot = *rsp - 8;
		call = probe_call_of(slot, page);
	}
	if (!call)
		return false;
	*pc = call;
	*rsp = slot + 8;
	return true;
}

/* For a thread in the kernel whose program counter is at a call: if the call is an optimised probe,
 * and the stack pointer is still, or again, the trampoline's, removes the words that the trampoline
 * has pushed. Returns whether it has done so. */
static __always_inline bool leave_half_called(struct stackd_regs *regs)
{
	__u64 words[CALL_WORDS];

	if (bpf_probe_read_user(words, sizeof(words), (const void *)regs->r[STACKD_REG_SP]) ||
	    words[3] != regs->r[STACKD_REG_PC] + CALL_LENGTH ||
	    words[0] != regs->r[X86_64_REG_RAX] || words[1] != regs->r[X86_64_REG_R11] ||
	    words[2] != regs->r[X86_64_REG_RCX])
		return false;
	regs->r[STACKD_REG_SP] += sizeof(words);
	return true;
}

#endif
