/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page faults, and calls of mmap() and brk(). They are recorded in place of allocations if a
 * program calls its allocator too often for probes (malloc.bpf.h). Page faults are sampled by
 * bytes, as allocations are; every call of mmap() and brk() is recorded. For neither is it recorded
 * when the memory is freed.
 */
#ifndef PAGE_FAULTS_BPF_H
#define PAGE_FAULTS_BPF_H

#include "malloc.bpf.h"

#define MAP_ANONYMOUS 0x20

/* Sends thread->event with the user's call path; `regs` is the address of the user registers in the
 * kernel. */
static __always_inline void send_memory(struct alloc_thread *thread, struct task_struct *task,
					const void *regs)
{
	struct scratch *s = take_scratch(bpf_get_smp_processor_id());
	bool is_sent;

	count_region(STACKD_REGION_ALLOCS);
	if (!s) {
		count_region(STACKD_REGION_ALLOCS_LOST);
		keep_lost(task, false);
		return;
	}
	if (bpf_probe_read_kernel(&s->saved, sizeof(s->saved), regs))
		__builtin_memset(&s->saved, 0, sizeof(s->saved));
	s->is_at_entry = 0;
	fill_at_probe(&s->record, &s->saved, PT_REGS_IP(&s->saved), PT_REGS_SP(&s->saved));
	thread->event.alloc.lost_bytes = thread->lost_bytes;
	s->record.event = thread->event;
	is_sent = !send_at_probe(s, task);
	if (!is_sent)
		count_region(STACKD_REGION_LOST_RING);
	keep_lost(task, is_sent);
}

SEC("raw_tp/page_fault_user")
int stackd_fault(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct alloc_thread *thread;

	if (!is_measured(task, bpf_get_current_pid_tgid() >> 32))
		return 0;
	thread = alloc_thread_of(task);
	if (!thread || !is_due(thread, PAGE_SIZE, true))
		return 0;
	thread->event.alloc = (struct stackd_alloc){.kind = STACKD_EVENT_FAULT, .size = PAGE_SIZE};
	send_memory(thread, task, (const void *)ctx->args[1]);
	return 0;
}

/* Returns an argument of a system call; `accessor` is the macro that accesses its register. */
#define ARGUMENT(regs, accessor)                                                                   \
	({                                                                                         \
		unsigned long value_ = 0;                                                          \
		bpf_probe_read_kernel(&value_, sizeof(value_), &accessor(regs));                   \
		value_;                                                                            \
	})

/* Returns the bytes of memory that a call of mmap() or brk() asks for; 0: none. It reads the
 * registers one by one, since the program's stack has no room for all of them beside a walk's
 * variables. */
static __always_inline __u64 asked_for(struct task_struct *task, const struct pt_regs *regs,
				       __u64 call)
{
	__u64 end = task->mm->brk, wanted;

	if (call == ARCH_CALL_MMAP)
		return ARGUMENT(regs, PT_REGS_PARM4_SYSCALL) & MAP_ANONYMOUS
			       ? ARGUMENT(regs, PT_REGS_PARM2)
			       : 0;
	wanted = ARGUMENT(regs, PT_REGS_PARM1);
	return wanted > end ? wanted - end : 0;
}

SEC("raw_tp/sys_enter")
int stackd_system_call(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 call = ctx->args[1], size;
	struct alloc_thread *thread;

	if ((call != ARCH_CALL_MMAP && call != ARCH_CALL_BRK) ||
	    !is_measured(task, bpf_get_current_pid_tgid() >> 32))
		return 0;
	size = asked_for(task, (const struct pt_regs *)ctx->args[0], call);
	thread = size ? alloc_thread_of(task) : NULL;
	if (!thread)
		return 0;
	thread->event.alloc =
		(struct stackd_alloc){.kind = STACKD_EVENT_MAP, .size = size, .weight = size};
	send_memory(thread, task, (const void *)ctx->args[0]);
	return 0;
}

#endif
