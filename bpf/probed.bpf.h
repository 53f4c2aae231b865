/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Undoes the changes that the kernel's uprobes and uretprobes have made to a thread.
 *
 * A uretprobe replaces the function's return address by the address of a trampoline, and keeps the
 * true return address in a list of the task. The trampoline is at the start of a page, where hardly
 * any other return address is, so walks without probes do not become slower. Slots are searched in
 * the list rather than taken in turn, since a longjmp leaves entries behind.
 *
 * A thread can also be stopped while a probe is handled: behind the breakpoint that replaces an
 * instruction, at the copy of that instruction, or in the trampoline. Then its registers are set to
 * what they would be without the probe. The kernel changes them one after the other, so a sample
 * that hits it there can find a program counter and a stack pointer that do not belong together:
 *
 *   - the kernel emulates an instruction of one byte, which nearly always is a push. Then the
 *     breakpoint is still the byte before the program counter, but has been handled;
 *   - the kernel also emulates a direct call with a probe: it sets the program counter behind the
 *     call, pushes it, and then sets it to the function;
 *   - the trampoline's system call sets the stack pointer and the program counter to where the
 *     function returns to, runs the probe's handlers with these, and restores them. While it runs,
 *     it is recognised by the values of three registers, which the trampoline has pushed.
 *
 * A walk from such a pair would take a saved register for a return address; if that is 0, the path
 * would even look complete. In one moment, nothing that can be read has the true return address:
 * between its replacement and its entry into the list. A walk at that moment ends at the
 * trampoline, without a mapping.
 *
 * A probe at a nop of five bytes is a call of another trampoline, see leave_probe_call().
 */
#ifndef PROBED_BPF_H
#define PROBED_BPF_H

#include "mapping.bpf.h"
#include "scratch.bpf.h"
#include "stack_copy.bpf.h"

#include "../arch/code.bpf.h"

/* returns of a thread that are replaced at a time; the kernel allows no more */
#define MAX_PROBED 64

static __always_inline struct uprobe_task *probed_task(struct task_struct *task)
{
	return bpf_core_field_exists(task->utask) ? BPF_CORE_READ(task, utask) : NULL;
}

/* Returns the address of the trampoline; 0: there is none. */
static __always_inline __u64 trampoline_of(struct task_struct *task)
{
	struct xol_area *area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);

	return area ? BPF_CORE_READ(area, vaddr) : 0;
}

/* Returns whether an entry of the list is that of a slot. While the kernel handles a breakpoint,
 * the entry of the slot at the top of the stack may not have been made yet, and an entry that a
 * longjmp has left may still be there. Then only an entry of the function that begins there
 * counts. */
static __always_inline bool is_entry_of(const struct scratch *s, struct return_instance *instance,
					__u64 slot)
{
	const struct stackd_regs *regs = &s->record.regs;

	return BPF_CORE_READ(instance, stack) == slot &&
	       (!s->at_breakpoint || slot != regs->r[STACKD_REG_SP] ||
		BPF_CORE_READ(instance, func) == regs->r[STACKD_REG_PC]);
}

/* Examines the list's current entry. If it is that of the slot, takes its return address; else
 * moves to the next entry. Returns 1 to end the search. */
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
 * not replaced. A global function, so that the BPF verifier checks it once. */
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

/* Like find_return(), for the entry that was removed from the list last, and waits to be used again
 * (6.14 and later). */
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

/* Returns whether this can be the address of a trampoline. */
static __always_inline bool may_be_trampoline(__u64 ra)
{
	return !(ra & (PAGE_SIZE - 1));
}

#include "../arch/probes.bpf.h"

/* If a thread was stopped in code without a file, in a trampoline or at the copy of an instruction,
 * sets the registers to what they would be without the probe. Returns 1 if it has changed them. A
 * global function, so that the BPF verifier checks it once. */
__noinline int leave_probe(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *probed = probed_task(task);
	__u64 pc, sp, page, at, slot, ra;

	if (!s)
		return 0;
	pc = s->record.regs.r[STACKD_REG_PC] + s->call_bytes; /* of a trampoline's call */
	sp = s->record.regs.r[STACKD_REG_SP];
	if (leave_probe_call(task, &pc, &sp)) {
		s->record.regs.r[STACKD_REG_PC] = pc;
		s->record.regs.r[STACKD_REG_SP] = sp;
		return 1;
	}
	if (!probed)
		return 0;
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

/* If the walk has come to the frame that a signal has interrupted, and that is in the trampoline,
 * continues the walk at the true return address, since the trampoline is no frame. Returns 1 in
 * this case. */
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

/* If the walk has reached an address in the trampoline, replaces it by the true return address:
 * that of the frame or, if a signal has interrupted the trampoline, that of the function that was
 * returning. Returns 1 if it has done so. A global function, so that the BPF verifier checks it
 * once. */
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

/* Returns whether a word can be what is on top of the stack at a function's entry: a return address
 * or, for a signal handler, the address of the system call that ends it. A word of 0 is neither,
 * though 0 also means that there is no trampoline. */
static __always_inline bool is_return(__u64 word, __u64 trampoline)
{
	return (trampoline && word == trampoline) || follows_call(word) || is_handler_return(word);
}

/* Returns whether the address is in an executable mapping, since bytes of data can look like
 * code. */
static __always_inline bool is_code(struct scratch *s, __u64 word)
{
	return !vma_find(s, word) && vma_flags(s) & VM_EXEC;
}

/* Returns whether the push of one byte under the breakpoint at `at` was emulated. Then the return
 * address is no longer on top of the stack, but in the second word. The second word may also be the
 * address at which a context begins: code without a call before it. The kernel sets the program
 * counter right after the push. So the state in which the push was done and the program counter is
 * still at the breakpoint (`is_at`) lasts only for an instant; most of the time in which it is
 * there, the probe's handlers run. These may run for another instruction than a push, in the middle
 * of a function, with any words on top of the stack. So then the second word must follow a call of
 * this function. If the program counter is behind the breakpoint, that is not needed. */
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

/* Returns whether breakpoints of uprobes were placed in the task's memory. */
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

/* For a thread in the kernel: sets the program counter and the stack pointer to values that belong
 * together. If the thread is behind a breakpoint whose instruction was not executed yet, the
 * program counter becomes the breakpoint's address; also if the breakpoint is the trampoline
 * (before 6.11), which replaces no instruction. Returns 1 if it has changed them. A global
 * function, so that the BPF verifier checks it once. */
__noinline int leave_handling(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *probed = probed_task(task);
	struct stackd_regs *regs;
	__u64 trampoline, at;
	__u8 code[2] = {0};
	bool is_at, pushed;

	/* A thread gets its struct uprobe_task only after its first breakpoint. */
	if (!ARCH_UNDOES_PROBES || !s || (!probed && !has_probes(task)))
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
	if (is_at && pushed) /* the kernel sets the program counter next */
		regs->r[STACKD_REG_SP] += 8;
	if (!is_at && !pushed)
		regs->r[STACKD_REG_PC]--;
	return is_at == pushed;
}

/* If the slot of the list's current entry is in the copy of the stack, puts the true return address
 * there. Returns 1 to end the loop. */
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

/* Puts the true return addresses into the copy of the stack at payload[at]. A global function, so
 * that the BPF verifier checks it once. */
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
