/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads a page of another process, as far as it is in memory, and never waits.
 *
 * process_vm_readv() and /proc/PID/mem fetch a page that is not there. A process can put a file of
 * a file system that it serves itself (FUSE) where a page has just been seen, and who reads then
 * waits for as long as that file system likes. So the daemon runs this program, which finds the
 * process by its number and its page by the page table, and copies the page through the kernel's
 * own mapping of all memory. No address that it meets on the way need be right: a read of a wrong
 * one fails. After the copy the process and its page are found again, so what was copied was the
 * process's page just before and just after. Both must be found: the page tables of a process that
 * has ended, or runs another program by now, may be memory of another one, and lead there twice.
 *
 * Where the kernel maps all memory is not told. The daemon finds it by trying: with the right base,
 * the walk of its own page table leads to a page that holds what it has written there
 * (daemon/capture/sampler_pages.c).
 */
#ifndef OTHER_PAGE_BPF_H
#define OTHER_PAGE_BPF_H

#include "scratch.bpf.h"

#include "../arch/page_table.bpf.h"

#define TREE_NODE      2ull /* a bit of a pointer in an xarray: it leads to a node */
#define TREE_NODE_BITS 6
#define TREE_LEVELS    6

/* The daemon's question. */
__u32 other_pid = 0;	 /* a process or thread; 0: the daemon itself */
__u64 other_address = 0; /* of the page */
__u32 other_levels = 0;	 /* how the page tables are read: struct arch_page_tables */
__u64 other_hidden = 0;
__u64 other_base = 0; /* 0: to be tried, so many steps below this task's own page table */
__u64 other_step = 0;

__u64 other_mm = 0; /* for stackd_other_page() alone */

/* The answer. */
__u64 other_tried = 0; /* the base that was used */
__u32 other_is_read = 0;
__u8 other_bytes[PAGE_SIZE] ALIGNED = {};

/* Returns the namespace of the daemon's numbers of processes; NULL: not known. */
static __always_inline struct pid_namespace *own_namespace(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	const __u32 level = pid ? BPF_CORE_READ(pid, level) : 0;
	struct upid number = {};

	if (!pid || level > 32 || bpf_core_read(&number, sizeof(number), &pid->numbers[0]) != 0)
		return NULL;
	if (level && bpf_probe_read_kernel(&number, sizeof(number),
					   (char *)&pid->numbers[0] + level * sizeof(number)))
		return NULL;
	return number.ns;
}

/* Returns what an xarray has at an index; 0: nothing. */
static __always_inline __u64 find_entry(struct xarray *tree, __u32 index)
{
	__u64 entry = (__u64)BPF_CORE_READ(tree, xa_head);

	for (int i = 0; i < TREE_LEVELS && (entry & 3) == TREE_NODE; i++) {
		struct xa_node *node = (void *)(entry - TREE_NODE);
		const __u32 shift = BPF_CORE_READ(node, shift);
		const __u32 at = (index >> (shift & 31)) & ((1 << TREE_NODE_BITS) - 1);

		/* The root has no entry for a larger index. */
		if (shift > 30 ||
		    (!i && shift + TREE_NODE_BITS < 32 && index >> (shift + TREE_NODE_BITS)))
			return 0;
		if (bpf_probe_read_kernel(&entry, sizeof(entry),
					  (char *)__builtin_preserve_access_index(&node->slots) +
						  at * sizeof(entry)))
			return 0;
	}
	return entry & 3 ? 0 : entry;
}

/* Returns the task of a number; NULL: there is none. */
static __always_inline struct task_struct *find_task(struct pid_namespace *space, __u32 number)
{
	struct pid *pid = (void *)find_entry(&space->idr.idr_rt, number);
	struct hlist_node *first = pid ? BPF_CORE_READ(pid, tasks[0].first) : NULL;
	struct task_struct *none = NULL;

	return first ? (void *)first - (__u64)__builtin_preserve_access_index(&none->pid_links[0])
		     : NULL;
}

/* Finds the process, and returns its page table, and in other_mm the memory that it belongs to; 0:
 * there is no such process, or it is ending. A global function, so that the BPF verifier checks it
 * once. */
__noinline __u64 other_find_table(void)
{
	struct task_struct *self = bpf_get_current_task_btf(), *task = self;
	struct pid_namespace *space = own_namespace(self);
	struct mm_struct *mm;
	__u64 table;

	if (other_pid)
		task = space ? find_task(space, other_pid) : NULL;
	mm = task ? BPF_CORE_READ(task, mm) : NULL;
	table = mm ? (__u64)BPF_CORE_READ(mm, pgd) : 0;
	other_mm = (__u64)mm;
	return table && !(BPF_CORE_READ(task, flags) & PF_EXITING) ? table : 0;
}

SEC("syscall")
int stackd_other_page(void *ctx)
{
	struct arch_page_tables how = {
		.base = other_base, .hidden = other_hidden, .levels = other_levels};
	__u64 table, mm, page;

	(void)ctx;
	other_is_read = 0;
	table = other_find_table();
	mm = other_mm;
	if (!table)
		return 0;
	if (!how.base)
		how.base = ((table >> ARCH_MEMORY_STEP_SHIFT) - other_step)
			   << ARCH_MEMORY_STEP_SHIFT;
	other_tried = how.base;
	page = arch_page_at(&how, table, other_address);
	if (!page || bpf_probe_read_kernel(other_bytes, PAGE_SIZE, (void *)page))
		return 0;
	other_is_read = arch_page_at(&how, table, other_address) == page &&
			other_find_table() == table && other_mm == mm;
	return 0;
}

#endif
