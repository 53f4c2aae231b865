/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocations. libstackalloc (a preloaded library) samples them (docs/ALLOC.md), and calls a
 * function with a probe for each sample, and another for the free of each sampled block. The record
 * of a sample has its call path, the record of a free has none. The path ends at the call of the
 * allocator. Most of the library's wrappers have no frame left by then, so the walk begins at the
 * last byte of the call instruction, with the registers from before the call.
 *
 * Lost samples are counted. If there is no scratch area for the walk, the record has only the call
 * in place of a path. If the ring buffer has no room, the thread's next record adds the weight (the
 * bytes that a sample represents) of the lost samples. Since a thread's last samples have no next
 * record, the lost weight is counted, too.
 *
 * A child of vfork() or posix_spawn() runs in its parent's memory until it executes a program.
 * Blocks that it allocates there stay when it leaves that memory, and blocks that it frees were the
 * parent's. So the record has the thread that owns the memory.
 */
#ifndef ALLOC_BPF_H
#define ALLOC_BPF_H

#include "region.bpf.h"

SETTING __u64 alloc_distance = 512 << 10; /* mean distance between samples, in bytes; less than
					   * 2^41 */

/* The state of a thread. */
struct alloc_thread {
	union stackd_measurement event; /* the record that is to be sent; it is here since the
					 * walk needs all the space on the stack */
	struct unwalked_instance unwalked;
	__u64 lost_bytes, lost_objects; /* weight of the samples that were lost since the last
					 * record in the ring buffer */

	/* For allocators whose functions are probed themselves (malloc.bpf.h): */
	__s64 left;	/* bytes before the next sample */
	__u64 slot;	/* the slot of the open call's return address; 0: no call is open */
	__u64 caller;	/* the slot's content */
	__u64 size;	/* bytes that the call asks for */
	__u64 pointer;	/* the block that it resizes, or the address at which it stores its
			 * result */
	__u64 held;	/* the number of the sampled block that it resizes; 0: that block was not
			 * sampled */
	__u32 kind;	/* enum stackd_alloc_kind */
	__u32 may_tail; /* it may end with a jump to another function that is probed */
	__u32 is_drawn; /* the first distance was drawn */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct alloc_thread);
} alloc_threads SEC(".maps");

static __always_inline struct alloc_thread *alloc_thread_of(struct task_struct *task)
{
	struct alloc_thread *thread = CHECKED(
		bpf_task_storage_get(&alloc_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE));

	if (!thread)
		count_region(STACKD_REGION_NO_MEMORY);
	return thread;
}

#define VFORKS 4 /* nested ones */

/* Returns the thread that owns the memory of this thread: itself or, in a child of vfork(), the
 * thread that waits in vfork(). */
static __always_inline struct task_struct *owner_of(struct task_struct *task)
{
	struct mm_struct *memory;

	if (!task->vfork_done)
		return task;
	memory = BPF_CORE_READ(task, mm);
#pragma clang loop unroll(disable)
	for (int i = 0; i < VFORKS && BPF_CORE_READ(task, vfork_done); i++) {
		struct task_struct *parent = task->real_parent;

		if (BPF_CORE_READ(parent, mm) != memory)
			break;
		task = parent;
	}
	return task;
}

/* Returns the member `owner` of struct stackd_alloc: 0 for the thread itself, else process and
 * thread ids. */
static __always_inline __u64 owner_number(struct task_struct *task)
{
	struct task_struct *owner = owner_of(task);

	return owner == task ? 0 : (__u64)owner->tgid << 32 | (__u32)owner->pid;
}

/* Returns the approximate weight of a sample, within some hundredths: S / (1 - exp(-S/R)) is less
 * than R + S/2 + S^2/12R, and nearly S if S is large. */
static __always_inline __u64 weight_of(const struct stackd_alloc *alloc)
{
	__u64 size = alloc->size, mean = alloc_distance ? alloc_distance : 1;

	if (alloc->weight)
		return alloc->weight;
	if (size >= 3 * mean)
		return size;
	return mean + size / 2 + size * (size * 16 / mean) / 192;
}

/* Notes whether the thread's record was sent. If it was lost, adds its weight to what the next
 * record will add. */
static __always_inline void keep_lost(struct task_struct *task, bool is_sent)
{
	struct alloc_thread *thread = CHECKED(bpf_task_storage_get(&alloc_threads, task, 0, 0));
	__u64 weight, size;

	if (!thread)
		return;
	if (is_sent) {
		if (thread->lost_bytes)
			count_region_by(STACKD_REGION_MADE_UP_BYTES, thread->lost_bytes);
		thread->lost_bytes = thread->lost_objects = 0;
		return;
	}
	weight = weight_of(&thread->event.alloc);
	size = thread->event.alloc.size ? thread->event.alloc.size : 1;
	count_region_by(STACKD_REGION_LOST_BYTES, weight);
	thread->lost_bytes += weight;
	thread->lost_objects += weight / size;
}

/* Sends thread->event with its call path. The path begins at `code`, where the stack pointer is
 * `slot`. */
static __always_inline void send_allocation(struct alloc_thread *thread, struct pt_regs *regs,
					    struct task_struct *task, __u64 code, __u64 slot,
					    bool is_at_entry)
{
	struct scratch *s = take_scratch(bpf_get_smp_processor_id());
	bool is_sent;

	count_allocated(task, weight_of(&thread->event.alloc));
	thread->event.alloc.lost_bytes = thread->lost_bytes;
	thread->event.alloc.lost_objects = thread->lost_objects;
	thread->event.alloc.owner = owner_number(task);
	if (!s) {
		count_region(STACKD_REGION_NO_SCRATCH);
		fill_unwalked(&thread->unwalked, bpf_get_current_pid_tgid(), bpf_ktime_get_ns(),
			      &thread->event, code, 0, STACKD_END_STACK_CUT);
		keep_lost(task, send_unwalked(&thread->unwalked));
		return;
	}
	s->is_at_entry = is_at_entry;
	fill_at_probe(&s->record, regs, code, slot);
	s->record.event = thread->event;
	is_sent = !send_at_probe(s, task);
	if (!is_sent)
		count_region(STACKD_REGION_LOST_RING);
	keep_lost(task, is_sent);
}

/* Sends thread->event with the path of the caller of a function that begins or ends here. If the
 * caller's return address cannot be read, the path begins in the function itself. */
static __always_inline void send_call(struct alloc_thread *thread, struct pt_regs *ctx,
				      struct task_struct *task)
{
	__u64 code = PT_REGS_IP(ctx), slot = PT_REGS_SP(ctx);
	/* The return address is in the map, since the walk takes most of the program's stack. */
	bool has_caller =
		!bpf_probe_read_user(&thread->caller, sizeof(thread->caller), (const void *)slot);

	count_region(STACKD_REGION_ALLOCS);
	if (has_caller) {
		code = thread->caller - 1;
		slot += 8;
	}
	send_allocation(thread, ctx, task, code, slot, !has_caller);
}

SEC("uprobe")
int stackd_alloc(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct alloc_thread *thread;

	if (!is_measured(task, bpf_get_current_pid_tgid() >> 32))
		return 0;
	thread = alloc_thread_of(task);
	if (!thread)
		return 0;
	thread->event.alloc = (struct stackd_alloc){.kind = STACKD_EVENT_ALLOC,
						    .address = PT_REGS_PARM1(ctx),
						    .size = PT_REGS_PARM2(ctx),
						    .weight = PT_REGS_PARM3(ctx)};
	send_call(thread, ctx, task);
	return 0;
}

/* Sends the end (the free) of a sampled block, by the block's number. A record of the kind WALKED
 * needs at least one frame, so `code` is its frame. */
static __always_inline void send_end(struct task_struct *task, __u64 number, __u64 code)
{
	union stackd_measurement event = {.free = {.kind = STACKD_EVENT_FREE,
						   .address = number,
						   .owner = owner_number(task)}};
	struct unwalked_instance record = {};

	count_region(STACKD_REGION_FREES);
	fill_unwalked(&record, bpf_get_current_pid_tgid(), bpf_ktime_get_ns(), &event, code, 0,
		      STACKD_END_STACK_CUT);
	send_unwalked(&record);
}

SEC("uprobe")
int stackd_free(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (is_measured(task, bpf_get_current_pid_tgid() >> 32))
		send_end(task, PT_REGS_PARM1(ctx), PT_REGS_IP(ctx));
	return 0;
}

#endif
