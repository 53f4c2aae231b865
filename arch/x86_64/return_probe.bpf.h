/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Return probes and breakpoints of x86-64; see ../probes.bpf.h. Under a breakpoint, the kernel
 * emulates a push of one byte and a direct call. The trampoline of return probes makes a system
 * call from 6.11 on.
 */
#ifndef ARCH_X86_64_RETURN_PROBE_BPF_H
#define ARCH_X86_64_RETURN_PROBE_BPF_H

#define ARCH_UNDOES_PROBES 1

/*
 * Returns how far above rsp the returning function's slot is, by the position in the trampoline:
 * its one instruction, or from 6.11 on
 *
 *   0 push %rax, 1 push %rcx, 2 push %r11, 4 mov, 11 syscall, 13 pop %r11, 15 pop %rcx, 16 ret
 *
 * The system call puts the true return address into the slot, and removes its entry from the
 * thread's list of replaced return addresses.
 */
#define TRAMPOLINE_CALLED 13

static __always_inline __u64 slot_above(__u64 at)
{
	if (at < 2 || at == 16)
		return at ? 0 : -8;
	return at == 2 || at == 15 ? 8 : 16;
}

/* Returns the return address of a thread at byte `at` of the trampoline; 0: it is not known. */
static __always_inline __u64 find_left(struct scratch *s, struct uprobe_task *probed, __u64 at,
				       __u64 slot)
{
	__u64 ra = find_return(s, slot);

	if (!ra && at == TRAMPOLINE_CALLED)
		ra = find_popped(probed, slot);
	if (!ra && (at < TRAMPOLINE_CALLED ||
		    bpf_probe_read_user(&ra, sizeof(ra), (const void *)slot) || !follows_call(ra)))
		return 0;
	return ra;
}

/* Returns whether the three words at `at` are those that the trampoline pushed, and the system call
 * has copied all of them to the registers. */
static __always_inline bool are_pushed(const struct stackd_regs *regs, __u64 at)
{
	__u64 words[3];

	return !bpf_probe_read_user(words, sizeof(words), (const void *)at) &&
	       words[0] == regs->r[X86_64_REG_R11] && words[1] == regs->r[X86_64_REG_RCX] &&
	       words[2] == regs->r[X86_64_REG_RAX];
}

/* Returns whether the kernel has just removed the list's entry for this slot, to return to `ra`. */
static __always_inline bool is_popped(struct uprobe_task *probed, __u64 slot, __u64 ra,
				      const struct stackd_regs *regs)
{
	if (bpf_core_field_exists(probed->ri_pool))
		return find_popped(probed, slot) == ra;
	return (regs->r[X86_64_REG_R11] | regs->r[X86_64_REG_RCX] | regs->r[X86_64_REG_RAX]) &&
	       follows_call(ra);
}

/* Returns whether the thread is at the trampoline's system call, and the kernel has moved the stack
 * pointer past the pushed words, but not copied all of them to registers yet. r11's is the first to
 * be copied. */
static __always_inline bool is_moved(const struct stackd_regs *regs, __u64 trampoline)
{
	__u64 words[4];

	return trampoline && regs->r[STACKD_REG_PC] == trampoline + TRAMPOLINE_CALLED &&
	       !bpf_probe_read_user(words, sizeof(words),
				    (const void *)(regs->r[STACKD_REG_SP] - 24)) &&
	       words[0] == regs->r[X86_64_REG_R11] && words[3] != words[0];
}

/* If the trampoline's system call has begun to change the thread's registers, sets them to those
 * after the function's return. Returns 1 if it has done so. Before the first change, and after the
 * last one, the program counter is in the trampoline, which leave_probe() handles. */
static __always_inline int leave_call(struct scratch *s, struct uprobe_task *probed,
				      __u64 trampoline)
{
	struct stackd_regs *regs = &s->record.regs;
	__u64 rsp = regs->r[STACKD_REG_SP], slot = rsp - 8, ra;

	if (are_pushed(regs, rsp - 24) || is_moved(regs, trampoline)) {
		ra = find_return(s, slot);
		if (!ra)
			return 0;
	} else {
		slot = rsp + 16;
		ra = regs->r[STACKD_REG_PC];
		if (!are_pushed(regs, rsp) || !is_popped(probed, slot, ra, regs))
			return 0;
	}
	regs->r[STACKD_REG_PC] = ra;
	regs->r[STACKD_REG_SP] = slot + 8;
	return 1;
}

/* Returns whether a word is the value of a register that a push of one byte pushes. */
static __always_inline bool is_pushed_register(const struct stackd_regs *regs, __u64 word)
{
	for (int i = 0; i < STACKD_REG_SP; i++) {
		if (regs->r[i] == word)
			return true;
	}
	return false;
}

#define CALL_BYTES 5 /* of a direct call */

/* Undoes the kernel's emulation of a direct call under a breakpoint, if all but the jump has been
 * done: the program counter and the word on top of the stack are then the address behind the call.
 * Restores the stack pointer to that before the call. Returns 1 if it has done so. */
static __always_inline int leave_call_instruction(struct stackd_regs *regs)
{
	__u64 pc = regs->r[STACKD_REG_PC], word;
	__u8 code = 0;

	if (bpf_probe_read_user(&code, 1, (const void *)(pc - CALL_BYTES)) ||
	    code != ARCH_BREAKPOINT ||
	    bpf_probe_read_user(&word, 8, (const void *)regs->r[STACKD_REG_SP]) || word != pc)
		return 0;
	regs->r[STACKD_REG_SP] += 8;
	return 1;
}

#endif
