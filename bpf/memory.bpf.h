/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What stands in for allocations where a program calls its allocator too often for probes
 * (malloc.bpf.h): where it touches pages that it has not got yet, sampled by bytes as allocations
 * are, and where it asks the kernel for memory, each time. Nothing of it ends.
 */
#ifndef MEMORY_BPF_H
#define MEMORY_BPF_H

#include "malloc.bpf.h"

#define MAP_ANONYMOUS 0x20

/* Sends thread->instance with the path of user mode, whose registers are at `regs`. */
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
	fill_instance(&s->record, &s->saved, PT_REGS_IP(&s->saved), PT_REGS_SP(&s->saved));
	thread->instance.lost_bytes = thread->lost_bytes;
	s->record.instance = thread->instance;
	is_sent = !send_instance(s, task);
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
	thread->instance = (struct stackd_instance){.size = PAGE_SIZE, .region = STACKD_TOUCHED};
	send_memory(thread, task, (const void *)ctx->args[1]);
	return 0;
}

/* An argument of a system call, by the accessor of its register. */
#define ARGUMENT(regs, accessor)                                                                   \
	({                                                                                         \
		unsigned long value_ = 0;                                                          \
		bpf_probe_read_kernel(&value_, sizeof(value_), &accessor(regs));                   \
		value_;                                                                            \
	})

/* The bytes of memory that a system call asks for; 0: none. The registers are read one by one:
 * there is no room for all beside the stack of a walk. */
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
	thread->instance =
		(struct stackd_instance){.size = size, .weight = size, .region = STACKD_MAPPED};
	send_memory(thread, task, (const void *)ctx->args[0]);
	return 0;
}

#endif
