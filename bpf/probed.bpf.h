/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Undoes the changes that the kernel's uprobes and uretprobes have made to a thread.
 *
 * A uretprobe replaces the function's return address by that of a trampoline, and keeps the true
 * one in a list of the task's. The trampoline is at the start of a page, where hardly any return
 * address is, so other walks pay nothing for this. Slots are searched in the list rather than taken
 * in turn, since a longjmp leaves entries behind.
 *
 * And a thread can be stopped within what a probe does: after the breakpoint in place of an
 * instruction, at the copy of that instruction, or in the trampoline. Its registers are then made
 * those that it would have without the probe. In the kernel they are changed one after the other,
 * so a sample there can find a program counter and a stack pointer that do not belong together:
 *
 *   - an instruction of one byte is executed in the kernel (a push, nearly always). Then the
 *     breakpoint is still the byte before the program counter, but has been dealt with;
 *   - a direct call with a probe is executed in the kernel, too: the program counter is set after
 * it and pushed, and then set to the function;
 *   - the trampoline's system call sets the stack pointer and the program counter to where the
 *     function returns to, shows them to the probe's handlers, and restores them. While it runs, it
 *     is recognised by the three registers' values that the trampoline has pushed.
 *
 * A walk from such a pair takes a saved register for a return address; if it is 0, the path even
 * looks complete. Only one moment is left in which nothing that can be read has the true return
 * address: between its replacement and its entry into the list. Such a walk ends at the trampoline,
 * without a mapping.
 *
 * Probes at nops of five bytes are calls of other trampolines, see leave_probe_call().
 */
#ifndef PROBED_BPF_H
#define PROBED_BPF_H

#include "mapping.bpf.h"
#include "scratch.bpf.h"
#include "stack_copy.bpf.h"

#include "../arch/code.bpf.h"

#define MAX_PROBED 64 /* returns of a thread; the kernel has no more */

static __always_inline struct uprobe_task *probed_task(struct task_struct *task)
{
	return bpf_core_field_exists(task->utask) ? BPF_CORE_READ(task, utask) : NULL;
}

/* The address of the trampoline; 0: there is none. */
static __always_inline __u64 trampoline_of(struct task_struct *task)
{
	struct xol_area *area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);

	return area ? BPF_CORE_READ(area, vaddr) : 0;
}

/* Is this the list's entry of a slot? While the kernel handles a breakpoint, the entry of the slot
 * at the top of the stack may not be made yet, and an entry that a longjmp has left may be there
 * instead: then only one of the function that begins there counts. */
static __always_inline bool is_entry_of(const struct scratch *s, struct return_instance *instance,
					__u64 slot)
{
	const struct stackd_regs *regs = &s->record.regs;

	return BPF_CORE_READ(instance, stack) == slot &&
	       (!s->at_breakpoint || slot != regs->r[STACKD_REG_SP] ||
		BPF_CORE_READ(instance, func) == regs->r[STACKD_REG_PC]);
}

/* Is the current entry that of the searched slot? Else moves to the next one. 1 ends the search. */
static long match_return(__u32 turn, struct scratch **given)
{
	struct scratch *s = *given;
	struct return_instance *instance = (struct return_instance *)s->returns.entry;

	(void)turn;
	if (!instance)
		return 1;
	if (is_entry_of(s, instance, s->returns.slot)) {
		s->returns.ra = BPF_CORE_READ(instance, orig_ret_vaddr);
		return 1;
	}
	s->returns.entry = (__u64)BPF_CORE_READ(instance, next);
	return 0;
}

/* Returns the return address that was in a slot of this thread before it was replaced; 0: it was
 * not. Global, so that it is verified once. */
__noinline __u64 find_return(struct scratch *given, __u64 slot)
{
	struct scratch *s = CHECKED(given);
	struct uprobe_task *probed = probed_task(bpf_get_current_task_btf());

	if (!s || !probed)
		return 0;
	s->returns.entry = (__u64)BPF_CORE_READ(probed, return_instances);
	s->returns.slot = slot;
	s->returns.ra = 0;
	bpf_loop(MAX_PROBED, match_return, &s, 0);
	return s->returns.ra;
}

/* The same for the entry that was last removed from the list, and waits for its next use (6.14 and
 * later). */
static __always_inline __u64 find_popped(struct uprobe_task *probed, __u64 slot)
{
	struct return_instance *instance;

	if (!bpf_core_field_exists(probed->ri_pool))
		return 0;
	instance = BPF_CORE_READ(probed, ri_pool);
	if (!instance || BPF_CORE_READ(instance, stack) != slot)
		return 0;
	return BPF_CORE_READ(instance, orig_ret_vaddr);
}

/* Can this be the address of a trampoline? */
static __always_inline bool may_be_trampoline(__u64 ra)
{
	return !(ra & (PAGE_SIZE - 1));
}

#include "../arch/probes.bpf.h"

/* For a thread that was stopped in code without a file: restores the registers that it would have
 * without the probe. 1: changed. Global, so that it is verified once. */
__noinline int leave_probe(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *probed = probed_task(task);
	__u64 pc, sp, page, at, slot, ra;

	if (!s)
		return 0;
	if (leave_probe_call(task, &s->record.regs.r[STACKD_REG_PC],
			     &s->record.regs.r[STACKD_REG_SP]))
		return 1;
	if (!probed)
		return 0;
	pc = s->record.regs.r[STACKD_REG_PC];
	sp = s->record.regs.r[STACKD_REG_SP];
	page = trampoline_of(task);
	if (!page || pc - page >= PAGE_SIZE)
		return 0;
	at = BPF_CORE_READ(probed, xol_vaddr);
	if (at && pc - at < 16) {
		s->record.regs.r[STACKD_REG_PC] = BPF_CORE_READ(probed, vaddr) + (pc - at);
		return 1;
	}
	slot = sp + slot_above(pc - page);
	ra = find_left(s, probed, pc - page, slot);
	if (!ra)
		return 0;
	s->record.regs.r[STACKD_REG_PC] = ra;
	s->record.regs.r[STACKD_REG_SP] = slot + 8;
	return 1;
}

/* The walk has come behind a signal's frame: has it hit the thread in the trampoline? Then that is
 * no frame, and the walk goes on at the true return address. 1: done. */
static __always_inline int leave_signalled(struct scratch *s, struct uprobe_task *probed,
					   __u64 page)
{
	__u64 at = s->walk.pc - page, slot, ra;

	if (!page || at >= PAGE_SIZE)
		return 0;
	slot = s->walk.r[STACKD_REG_SP] + slot_above(at);
	ra = find_left(s, probed, at, slot);
	if (!ra)
		return 0;
	s->walk.pc = ra;
	s->walk.slot = slot;
	s->walk.r[STACKD_REG_SP] = slot + 8;
	s->walk.is_exact = 0;
	s->walk.is_once = 1;
	return 1;
}

/* Replaces an address in the trampoline, which the walk has reached, by the true return address:
 * where a function returns to, or where a signal has hit the thread. 1: done; 0: it is none.
 * Global, so that it is verified once. */
__noinline int restore_return(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *probed = probed_task(task);
	__u64 ra, page;

	if (!s)
		return 0;
	if (s->walk.is_exact && leave_probe_call(task, &s->walk.pc, &s->walk.r[STACKD_REG_SP])) {
		s->walk.is_once = 1;
		return 1;
	}
	if (!probed)
		return 0;
	page = trampoline_of(task);
	if (s->walk.is_exact)
		return leave_signalled(s, probed, page);
	if (s->walk.pc != page)
		return 0;
	ra = find_return(s, s->walk.slot);
	if (!ra)
		return 0;
	s->walk.pc = ra;
	return 1;
}

/* --- in the kernel ---------------------------------------------------------------------------- */

/* Is this what a function finds at its entry, by the code there: a return address, or that of a
 * signal handler, which is the system call's that ends it? A word that is 0 is neither, though the
 * address of a trampoline that does not exist is 0 too. */
static __always_inline bool is_return(__u64 word, __u64 trampoline)
{
	return (trampoline && word == trampoline) || follows_call(word) || is_handler_return(word);
}

/* Can this address be executed? Bytes of data can look like code. */
static __always_inline bool is_code(struct scratch *s, __u64 word)
{
	struct vm_area_struct *vma;

	if (vma_find(s, word))
		return false;
	vma = (struct vm_area_struct *)s->vma_pointer;
	return BPF_CORE_READ(vma, vm_flags) & VM_EXEC;
}

/* Has the instruction under the breakpoint at `at` been executed, which was a push of one byte?
 * Then the return address is no longer at the top of the stack. The second word may also be where
 * a context begins: that is code without a call before it.
 *
 * The program counter is set right after the push, so while it is still at the breakpoint
 * (`is_at`), that is an instant, and the probe's handlers take all other time. They may run for
 * another instruction than a push, in the middle of a function, with anything at the top of the
 * stack: so it takes the call that has led here to believe it. Behind the breakpoint it does not
 * matter for such an instruction. */
static __always_inline bool has_pushed(struct scratch *s, struct uprobe_task *probed, __u64 at,
				       __u64 trampoline, bool is_at)
{
	const struct stackd_regs *regs = &s->record.regs;
	struct return_instance *newest = BPF_CORE_READ(probed, return_instances);
	__u64 sp = regs->r[STACKD_REG_SP], words[2];

	if (newest && BPF_CORE_READ(newest, func) == at && BPF_CORE_READ(newest, stack) == sp + 8)
		return true;
	if (bpf_probe_read_user(words, sizeof(words), (const void *)sp) ||
	    !is_pushed_register(regs, words[0]) ||
	    (is_return(words[0], trampoline) && is_code(s, words[0])))
		return false;
	if (is_at)
		return is_call_of(words[1], at);
	return is_return(words[1], trampoline) || is_code(s, words[1]);
}

/* Are there breakpoints of uprobes in the task's memory? */
static __always_inline bool has_probes(struct task_struct *task)
{
	struct mm_struct___bitmap *bitmap = (void *)task->mm;
	struct mm_struct___flags *word = (void *)task->mm;
	unsigned long flags = 0;

	if (bpf_core_field_exists(bitmap->flags.__mm_flags))
		bpf_core_read(&flags, sizeof(flags), &bitmap->flags.__mm_flags);
	else if (bpf_core_field_exists(word->flags))
		bpf_core_read(&flags, sizeof(flags), &word->flags);
	return flags & MMF_HAS_UPROBES;
}

/* Of a thread in the kernel: makes the registers those that belong together. Behind a breakpoint
 * whose instruction is still to be executed, that is the breakpoint's own address; so it is with
 * the one that is the trampoline before 6.11, which stands for no instruction. 1: changed.
 * Global, so that it is verified once. */
__noinline int leave_handling(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *probed = probed_task(task);
	struct stackd_regs *regs;
	__u64 trampoline, at;
	__u8 code[2] = {0};
	bool is_at, pushed;

	/* A thread's first breakpoint has been passed before it gets its struct uprobe_task. */
	if (!s || (!probed && !has_probes(task)))
		return 0;
	regs = &s->record.regs;
	trampoline = trampoline_of(task);
	if (probed && leave_call(s, probed, trampoline))
		return 1;
	if (bpf_probe_read_user(code, 2, (const void *)(regs->r[STACKD_REG_PC] - 1)))
		return 0;
	if (code[1] == CALL_CODE && leave_half_called(regs))
		return 1;
	is_at = code[1] == ARCH_BREAKPOINT;
	if (!is_at && code[0] != ARCH_BREAKPOINT)
		return leave_call_instruction(regs);
	at = regs->r[STACKD_REG_PC] - !is_at;
	pushed = probed && at != trampoline && has_pushed(s, probed, at, trampoline, is_at);
	s->at_breakpoint = !pushed && at != trampoline;
	if (is_at && pushed) /* and the program counter will be set next */
		regs->r[STACKD_REG_SP] += 8;
	if (!is_at && !pushed)
		regs->r[STACKD_REG_PC]--;
	return is_at == pushed;
}

/* Puts the true return address of the current entry into the copy. 1 ends the loop. */
static long restore_word(__u32 turn, struct scratch **given)
{
	struct scratch *s = *given;
	struct return_instance *instance = (struct return_instance *)s->returns.entry;
	__u32 bytes = s->returns.bytes;
	__u64 slot, *word;

	(void)turn;
	if (!instance)
		return 1;
	s->returns.entry = (__u64)BPF_CORE_READ(instance, next);
	slot = BPF_CORE_READ(instance, stack) - s->returns.start;
	if (!is_entry_of(s, instance, slot + s->returns.start) || bytes < 8 || slot > bytes - 8 ||
	    slot >= STACKD_MAX_STACK_BYTES)
		return 0;
	word = (__u64 *)(s->payload + BOUNDED(s->returns.at, 1024) +
			 BOUNDED(slot, STACKD_MAX_STACK_BYTES));
	if (*word == s->returns.trampoline)
		*word = BPF_CORE_READ(instance, orig_ret_vaddr);
	return 0;
}

/* Puts the true return addresses into the copy of the stack at payload[at]. Global, so that it is
 * verified once. */
__noinline int restore_copy(struct scratch *given, __u64 start, __u32 at, __u32 bytes)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *probed = probed_task(task);

	if (!s || !probed)
		return 0;
	s->returns.entry = (__u64)BPF_CORE_READ(probed, return_instances);
	s->returns.trampoline = trampoline_of(task);
	s->returns.start = start;
	s->returns.at = at;
	s->returns.bytes = bytes;
	bpf_loop(MAX_PROBED, restore_word, &s, 0);
	return 0;
}

#endif
