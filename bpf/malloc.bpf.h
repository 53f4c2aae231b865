/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocations of programs that run without libstackalloc: probes on the functions of the allocator,
 * which the daemon finds (daemon/regions/alloc_functions.h).
 *
 *   entry   keeps the request in the thread's data; from now to its return, the call is open
 *   return  subtracts the size from the thread's distance to the next sample; if that is used up,
 *           the allocation is a sample
 *   free()  looks up every block in the table of sampled blocks
 *
 * A return is seen by a uretprobe, or by uprobes on the function's returns.
 *
 * Allocators call themselves (operator new calls malloc(), calloc() may), so nothing is counted
 * within an open call. A call that never reaches a probed return (after an exception, or a jump to
 * unknown code) is recognised by its slot: the slot is below the stack pointer, or was overwritten.
 *
 * Sampled blocks are in a bounded table; sampled blocks for which it has no room are only counted.
 * A block is identified by its address, its process and the number of the process's execs, so an
 * exec or a fork leaves no entry that could be taken for another block. For the daemon each block
 * has a unique number, since the record of a thread that gets an address can arrive before the
 * record of the thread that has freed that address.
 *
 * At the entry of realloc(), its block is removed from the table, since another block may get the
 * address before realloc() returns. If realloc() fails, the block is added again.
 */
#ifndef MALLOC_BPF_H
#define MALLOC_BPF_H

#include "exponential.bpf.h"
#include "alloc.bpf.h"

struct live_key {
	__u64 address;
	__u32 pid;
	__u32 exec; /* task_struct.self_exec_id */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STACKD_MOST_LIVE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct live_key);
	__type(value, __u64); /* the block's number */
} live_table SEC(".maps");

__u64 live_last = 0; /* the number of the sampled block that was added last */

/* --- distances ------------------------------------------------------------------------------ */

/* Draws the number of bytes up to the next sampled byte, from an exponential distribution. */
static __always_inline __s64 draw_distance(void)
{
	__u64 x = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
	__u64 log = minus_log2(x) * LOG_2 >> LOG_BITS;

	return (log >> 4) * alloc_distance >> (LOG_BITS - 4);
}

/* Subtracts an allocation's bytes from the thread's distance to the next sample. Returns whether
 * the allocation is a sample. `is_made`: it has succeeded; else it is none. */
static __always_inline bool is_due(struct alloc_thread *thread, __u64 size, bool is_made)
{
	if (!thread->is_drawn) {
		thread->left = draw_distance();
		thread->is_drawn = 1;
	}
	thread->left -= size ? size : 1;
	if (thread->left >= 0)
		return false;
	thread->left = draw_distance();
	return is_made;
}

/* --- sampled blocks --------------------------------------------------------------------------- */

static __always_inline struct live_key live_key_of(struct task_struct *task, __u64 address)
{
	struct task_struct *owner = owner_of(task);

	return (struct live_key){
		.address = address, .pid = owner->tgid, .exec = owner->self_exec_id};
}

/* Removes a block from the table. Returns its number; 0: it was not sampled. */
static __always_inline __u64 take_live(struct task_struct *task, __u64 address)
{
	struct live_key key = live_key_of(task, address);
	__u64 *found = address ? CHECKED(bpf_map_lookup_elem(&live_table, &key)) : NULL;
	__u64 number = found ? *found : 0;

	if (number)
		bpf_map_delete_elem(&live_table, &key);
	return number;
}

/* Adds a block to the table. Returns false if the table has no room. */
static __always_inline bool put_live(struct task_struct *task, __u64 address, __u64 number)
{
	struct live_key key = live_key_of(task, address);

	return !bpf_map_update_elem(&live_table, &key, &number, BPF_ANY);
}

static long forget_live(void *map, const struct live_key *key, __u64 *number, __u32 *pid)
{
	(void)number;
	if (key->pid == *pid)
		bpf_map_delete_elem(map, key);
	return 0;
}

/* Removes all blocks of a process that exits. */
SEC("raw_tp/sched_process_exit")
int stackd_malloc_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 pid = task->tgid;

	(void)ctx;
	if (!task->signal->live.counter && is_member(task, pid))
		bpf_for_each_map_elem(&live_table, forget_live, &pid, 0);
	return 0;
}

/* --- calls ---------------------------------------------------------------------------------- */

/* Returns whether the call that begins here is within an open call of the thread. A uretprobe
 * replaces the return address after the entry was probed, so the address of the uretprobes'
 * trampoline in the slot also means that the call is open. */
static __always_inline bool is_within(struct alloc_thread *thread, struct pt_regs *ctx,
				      struct task_struct *task)
{
	__u64 caller = 0;

	if (!thread->slot || thread->slot < PT_REGS_SP(ctx) ||
	    bpf_probe_read_user(&caller, sizeof(caller), (const void *)thread->slot))
		return false;
	if (caller == thread->caller)
		return thread->slot > PT_REGS_SP(ctx) || thread->may_tail;
	return caller && caller == trampoline_of(task);
}

/* Returns count * size, the bytes that calloc() asks for; if the product overflows or is too large
 * for any block, a number that is. */
static __always_inline __u64 product(__u64 count, __u64 size)
{
	return !size || count <= (__u64)(1ull << 47) / size ? count * size : 1ull << 47;
}

static __always_inline void open_call(struct alloc_thread *thread, struct pt_regs *ctx,
				      struct task_struct *task, __u32 kind)
{
	thread->slot = PT_REGS_SP(ctx);
	thread->caller = 0;
	bpf_probe_read_user(&thread->caller, sizeof(thread->caller), (const void *)PT_REGS_SP(ctx));
	thread->kind = kind;
	thread->pointer = PT_REGS_PARM1(ctx);
	thread->held = 0;
	switch (kind) {
	case STACKD_ALLOC_SIZE:
		thread->size = PT_REGS_PARM1(ctx);
		break;
	case STACKD_ALLOC_SECOND:
	case STACKD_ALLOC_RESIZE:
		thread->size = PT_REGS_PARM2(ctx);
		break;
	case STACKD_ALLOC_PRODUCT:
		thread->size = product(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx));
		break;
	case STACKD_ALLOC_RESIZE_PRODUCT:
		thread->size = product(PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx));
		break;
	default:
		thread->size = PT_REGS_PARM3(ctx);
	}
	if (kind == STACKD_ALLOC_RESIZE || kind == STACKD_ALLOC_RESIZE_PRODUCT)
		thread->held = take_live(task, PT_REGS_PARM1(ctx));
}

SEC("uprobe")
int stackd_malloc_enter(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(ctx), number;
	struct alloc_thread *thread;

	if (!is_measured(task, bpf_get_current_pid_tgid() >> 32))
		return 0;
	count_region(STACKD_REGION_ALLOC_CALLS);
	if (STACKD_ALLOC_KIND(cookie) == STACKD_ALLOC_FREE) {
		number = take_live(task, PT_REGS_PARM1(ctx));
		if (number)
			send_end(task, number, PT_REGS_IP(ctx));
		return 0;
	}
	thread = alloc_thread_of(task);
	if (!thread || is_within(thread, ctx, task))
		return 0;
	open_call(thread, ctx, task, STACKD_ALLOC_KIND(cookie));
	thread->may_tail = !!(cookie & STACKD_ALLOC_TAIL);
	return 0;
}

/* Returns the address of the block that a call has allocated; 0: none. */
static __always_inline __u64 made_by(struct alloc_thread *thread, struct pt_regs *ctx)
{
	__u64 pointer = 0;

	if (thread->kind != STACKD_ALLOC_INTO)
		return PT_REGS_RC(ctx);
	if ((__u32)PT_REGS_RC(ctx) ||
	    bpf_probe_read_user(&pointer, sizeof(pointer), (const void *)thread->pointer))
		return 0;
	return pointer;
}

/* At the return of realloc(): reports the old block as freed. If realloc() has failed (it returned
 * NULL for a size that is not 0), adds the block to the table again, from which the entry has
 * removed it. */
static __always_inline void end_held(struct alloc_thread *thread, struct task_struct *task,
				     __u64 made, __u64 code)
{
	if (made || !thread->size)
		send_end(task, thread->held, code);
	else if (!put_live(task, thread->pointer, thread->held))
		count_region(STACKD_REGION_UNTRACKED);
	thread->held = 0;
}

/* Closes the open call at its return. Returns whether its block is sampled; thread->event is then
 * the sample's event. This is a function, so that its stack is not part of the walk's. */
static __noinline bool close_call(struct alloc_thread *thread, struct pt_regs *ctx,
				  struct task_struct *task)
{
	__u64 made, number;

	thread->slot = 0;
	made = bpf_get_attach_cookie(ctx) == STACKD_ALLOC_CLEARED ? PT_REGS_PARM1(ctx)
								  : made_by(thread, ctx);
	if (thread->held)
		end_held(thread, task, made, PT_REGS_IP(ctx));
	if (!is_due(thread, thread->size, made))
		return false;
	number = __sync_fetch_and_add(&live_last, 1) + 1;
	if (!put_live(task, made, number)) {
		count_region(STACKD_REGION_UNTRACKED);
		number = 0;
	}
	thread->event.alloc = (struct stackd_alloc){
		.kind = STACKD_EVENT_ALLOC, .address = number, .size = thread->size};
	return true;
}

SEC("uprobe")
int stackd_malloc_leave(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct alloc_thread *thread = CHECKED(bpf_task_storage_get(&alloc_threads, task, 0, 0));

	if (!thread || !thread->slot || thread->slot != PT_REGS_SP(ctx))
		return 0;
	if (close_call(thread, ctx, task))
		send_call(thread, ctx, task);
	return 0;
}

/* Handles a return that a uretprobe sees, where the stack pointer is already the caller's. */
SEC("uretprobe")
int stackd_malloc_return(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct alloc_thread *thread = CHECKED(bpf_task_storage_get(&alloc_threads, task, 0, 0));

	if (!thread || !thread->slot || thread->slot != PT_REGS_SP(ctx) - 8 ||
	    !close_call(thread, ctx, task))
		return 0;
	count_region(STACKD_REGION_ALLOCS);
	send_allocation(thread, ctx, task, PT_REGS_IP(ctx) - 1, PT_REGS_SP(ctx), false);
	return 0;
}

#endif
