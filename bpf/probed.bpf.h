/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel's own probes of user code have changed in a thread, and what was there.
 *
 * A uretprobe replaces the function's return address by that of a trampoline, and keeps the true
 * one in a list of the task's. The trampoline is at the start of a page, where hardly any return
 * address is: so nobody else pays for this. Slots of the list are looked up among its entries
 * rather than taken in turn, since a longjmp leaves entries behind.
 *
 * And a thread can be stopped within what a probe does: after the breakpoint in place of an
 * instruction, at the copy of that instruction, or in the trampoline. Its registers are then made
 * those that it would have without the probe.
 */
#ifndef PROBED_BPF_H
#define PROBED_BPF_H

#include "code.bpf.h"
#include "scratch.bpf.h"
#include "stack_copy.bpf.h"

#define MAX_PROBED 64 /* returns of a thread; the kernel has no more */
#define BREAKPOINT 0xcc

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

/* The return address that was in a slot before it was replaced; 0: it was not. */
static __always_inline __u64 find_return(struct uprobe_task *probed, __u64 slot)
{
	struct return_instance *instance = BPF_CORE_READ(probed, return_instances);

	for (int i = 0; i < MAX_PROBED && instance; i++) {
		if (BPF_CORE_READ(instance, stack) == slot)
			return BPF_CORE_READ(instance, orig_ret_vaddr);
		instance = BPF_CORE_READ(instance, next);
	}
	return 0;
}

/* Can this be the address of a trampoline? */
static __always_inline bool may_be_trampoline(__u64 ra)
{
	return !(ra & (PAGE_SIZE - 1));
}

/* Puts the true return address in place of the trampoline's, which the walk has come to. 1: done;
 * 0: it is not one. Global, so that it is verified once. */
__noinline int restore_return(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *probed = probed_task(task);
	__u64 ra;

	if (!s || !probed || s->walk.pc != trampoline_of(task))
		return 0;
	ra = find_return(probed, s->walk.slot);
	if (!ra)
		return 0;
	s->walk.pc = ra;
	return 1;
}

/*
 * How far above rsp the returning function's slot is, by the place in the trampoline: its one
 * instruction, or from 6.11 on
 *
 *   0 push %rax, 1 push %rcx, 2 push %r11, 4 mov, 11 syscall, 13 pop %r11, 15 pop %rcx, 16 ret
 *
 * The system call puts the true return address into the slot, and takes it off the list.
 */
#define TRAMPOLINE_CALLED 13

static __always_inline __u64 slot_above(__u64 at)
{
	if (at < 2 || at == 16)
		return at ? 0 : -8;
	return at == 2 || at == 15 ? 8 : 16;
}

/* Of a thread that was stopped in code without a file: the registers as they would be without the
 * probe. 1: changed. Global, so that it is verified once. */
__noinline int leave_probe(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *probed = probed_task(task);
	__u64 pc, rsp, page, at, slot, ra;

	if (!s || !probed)
		return 0;
	pc = s->record.regs.r[STACKD_REG_RIP];
	rsp = s->record.regs.r[STACKD_REG_RSP];
	page = trampoline_of(task);
	if (!page || pc - page >= PAGE_SIZE)
		return 0;
	at = BPF_CORE_READ(probed, xol_vaddr);
	if (at && pc - at < 16) {
		s->record.regs.r[STACKD_REG_RIP] = BPF_CORE_READ(probed, vaddr) + (pc - at);
		return 1;
	}
	slot = rsp + slot_above(pc - page);
	ra = find_return(probed, slot);
	if (!ra && (pc - page < TRAMPOLINE_CALLED ||
		    bpf_probe_read_user(&ra, sizeof(ra), (const void *)slot) || !follows_call(ra)))
		return 0;
	s->record.regs.r[STACKD_REG_RIP] = ra;
	s->record.regs.r[STACKD_REG_RSP] = slot + 8;
	return 1;
}

/* Of a thread in the kernel: is it there because of a breakpoint that it has just passed, and that
 * stands for an instruction? Then that one is still to be executed. Global, so that it is verified
 * once. */
__noinline int leave_breakpoint(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u8 code[2] = {0};
	__u64 pc;

	if (!s || !probed_task(bpf_get_current_task_btf()))
		return 0;
	pc = s->record.regs.r[STACKD_REG_RIP];
	if (bpf_probe_read_user(code, 2, (const void *)(pc - 1)) || code[0] != BREAKPOINT ||
	    code[1] == BREAKPOINT)
		return 0;
	s->record.regs.r[STACKD_REG_RIP] = pc - 1;
	return 1;
}

/* Puts the true return addresses into the copy of the stack at payload[at]. Global, so that it is
 * verified once. */
__noinline int restore_copy(struct scratch *given, __u32 at, __u32 bytes)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *probed = probed_task(task);
	struct return_instance *instance;
	__u64 rsp, trampoline;

	if (!s || !probed)
		return 0;
	rsp = s->record.regs.r[STACKD_REG_RSP];
	trampoline = trampoline_of(task);
	instance = BPF_CORE_READ(probed, return_instances);
	for (int i = 0; i < MAX_PROBED && instance; i++) {
		__u64 slot = BPF_CORE_READ(instance, stack) - rsp;
		__u64 ra = BPF_CORE_READ(instance, orig_ret_vaddr), *word;

		instance = BPF_CORE_READ(instance, next);
		if (bytes < 8 || slot > bytes - 8 || slot >= STACKD_MAX_STACK_BYTES)
			continue;
		word = (__u64 *)(s->payload + BOUNDED(at, 1024) +
				 BOUNDED(slot, STACKD_MAX_STACK_BYTES));
		if (*word == trampoline)
			*word = ra;
	}
	return 0;
}

#endif
