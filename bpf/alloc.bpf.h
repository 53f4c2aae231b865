/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocations: each sample that libstackalloc tells of (docs/ALLOC.md) becomes a record with its
 * call path, as an instance of a region does, and the end of each one without a path. The path ends
 * at the call of the allocator: most of the library's wrappers have left no frames, so the walk
 * begins at the last byte of the call instruction, with the registers as they were before it.
 *
 * No sample is left out in silence: without a work area its record has no path but the call, and of
 * those that the ring has no room for, the thread's next one says what they stood for, and stands
 * for that, too; what they stood for is counted, since a thread's last ones have no next.
 *
 * A child of vfork() or posix_spawn() is in its parent's memory until it executes a program: the
 * blocks that it allocates there stay behind, and those that it frees were its parent's. So the
 * record says whose they are.
 */
#ifndef ALLOC_BPF_H
#define ALLOC_BPF_H

#include "region.bpf.h"

SETTING __u64 alloc_distance = 512 << 10; /* mean, in bytes; less than 2^41 */

/* What a thread has under way. */
struct alloc_thread {
	struct stackd_instance instance; /* to be sent: the walk takes all the space on the stack */
	struct lone_instance lone;
	__u64 lost_bytes, lost_objects; /* of samples since the last one that is in the ring */

	/* Of functions that are probed (malloc.bpf.h). */
	__s64 left;	/* bytes before the next sample */
	__u64 slot;	/* of the return address of the open call; 0: there is none */
	__u64 caller;	/* what the slot has */
	__u64 size;	/* that it asks for */
	__u64 pointer;	/* that it resizes, or where it puts its result */
	__u64 held;	/* the number of the block that it resizes; 0: that was not sampled */
	__u32 kind;	/* enum stackd_alloc_kind */
	__u32 may_tail; /* it may end as another function that is probed */
	__u32 is_drawn; /* the first distance */
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

#define VFORKS 4 /* within each other */

/* Returns the thread in whose memory this one is: its own, or the one that waits in vfork(). */
static __always_inline struct task_struct *owner_of(struct task_struct *task)
{
	for (int i = 0; i < VFORKS && task->vfork_done; i++) {
		struct task_struct *parent = task->real_parent;

		if (parent->mm != task->mm)
			break;
		task = parent;
	}
	return task;
}

/* As in a record. */
static __always_inline __u64 owner_number(struct task_struct *task)
{
	struct task_struct *owner = owner_of(task);

	return owner == task ? 0 : (__u64)owner->tgid << 32 | (__u32)owner->pid;
}

/* About what a sample stands for, within some hundredths: S / (1 - exp(-S/R)) is R + S/2 + S^2/12R
 * and less, and S where S is large. */
static __always_inline __u64 weight_of(const struct stackd_instance *instance)
{
	__u64 size = instance->size, mean = alloc_distance ? alloc_distance : 1;

	if (instance->weight)
		return instance->weight;
	if (size >= 3 * mean)
		return size;
	return mean + size / 2 + size * (size * 16 / mean) / 192;
}

/* Keeps what came of the thread's record: what was lost goes with the next one. */
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
	weight = weight_of(&thread->instance);
	size = thread->instance.size ? thread->instance.size : 1;
	count_region_by(STACKD_REGION_LOST_BYTES, weight);
	thread->lost_bytes += weight;
	thread->lost_objects += weight / size;
}

/* Sends thread->instance, with the path from `code` on, where the stack pointer is `slot`. */
static __always_inline void send_allocation(struct alloc_thread *thread, struct pt_regs *regs,
					    struct task_struct *task, __u64 code, __u64 slot,
					    bool is_at_entry)
{
	struct scratch *s = take_scratch(bpf_get_smp_processor_id());
	bool is_sent;

	count_allocated(task, weight_of(&thread->instance));
	thread->instance.lost_bytes = thread->lost_bytes;
	thread->instance.lost_objects = thread->lost_objects;
	thread->instance.owner = owner_number(task);
	if (!s) {
		count_region(STACKD_REGION_NO_SCRATCH);
		fill_lone(&thread->lone, bpf_get_current_pid_tgid(), bpf_ktime_get_ns(),
			  &thread->instance, code, 0, STACKD_END_STACK_CUT);
		keep_lost(task, send_lone(&thread->lone));
		return;
	}
	s->is_at_entry = is_at_entry;
	fill_instance(&s->record, regs, code, slot);
	s->record.instance = thread->instance;
	is_sent = !send_instance(s, task);
	if (!is_sent)
		count_region(STACKD_REGION_LOST_RING);
	keep_lost(task, is_sent);
}

/* Sends it with the path of the caller of a function that begins or ends here. */
static __always_inline void send_call(struct alloc_thread *thread, struct pt_regs *ctx,
				      struct task_struct *task)
{
	__u64 code = PT_REGS_IP(ctx), slot = PT_REGS_SP(ctx);
	/* Not on the program's stack, of which the walk takes most. */
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
	thread->instance = (struct stackd_instance){.address = PT_REGS_PARM1(ctx),
						    .size = PT_REGS_PARM2(ctx),
						    .weight = PT_REGS_PARM3(ctx),
						    .region = STACKD_ALLOCATION};
	send_call(thread, ctx, task);
	return 0;
}

/* Sends the end of a sampled block. Its record has one frame, as the form asks for one. */
static __always_inline void send_end(struct task_struct *task, __u64 number, __u64 code)
{
	struct stackd_instance instance = {
		.address = number, .owner = owner_number(task), .region = STACKD_FREE};
	struct lone_instance record = {};

	count_region(STACKD_REGION_FREES);
	fill_lone(&record, bpf_get_current_pid_tgid(), bpf_ktime_get_ns(), &instance, code, 0,
		  STACKD_END_STACK_CUT);
	send_lone(&record);
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
