/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps an address to a file and an offset in it, inside the interrupt.
 *
 * The kernel offers bpf_find_vma(), which takes a lock and, in an interrupt, an inter-processor
 * interrupt to release it: some 5 us. So these functions read the tree of the mappings (a maple
 * tree since 6.1) without a lock, one node of 256 bytes at each level. Meanwhile another CPU can
 * remove a node. So the result is checked: the mapping must belong to this address space and
 * contain the address. Else there is no result, and the daemon walks the stack.
 *
 * Results are cached. A cached mapping must not be used after a library was unloaded and another
 * was mapped at its address. So it is valid only while its stamp is equal to the present stamp:
 * stamp = the kernel's count of changes to the process's mappings,
 *         and how often the daemon has noticed writes to mapped files, or has taken numbers of
 *         files back
 *
 * If the kernel does not count changes (before 6.4), each sample has a new stamp. The mappings that
 * were found for a sample are kept for later samples on this CPU, while process and stamp are the
 * same.
 *
 * The file of a mapping is identified by its inode. The daemon enters each file with a number into
 * the map `inodes`, for all processes that map the file, so a new process of known files is walked
 * from its first sample on. An unknown file is put into the record, so that the daemon enters it,
 * unless it is a file that never gets a table of rules.
 */
#ifndef MAPPING_BPF_H
#define MAPPING_BPF_H

#include "scratch.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct stackd_inode);
	__type(value, __u32); /* file number */
} inodes SEC(".maps");

/* Files that never get a table: those that hold JIT code (the memory of a compiler that maps it
 * twice), and those that are no ELF files (enum stackd_made_file). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct stackd_inode);
	__type(value, __u32);
} made_files SEC(".maps");

/* 1 if the map has entries; 0 saves the look-up. */
__u32 has_made_files;

/* How often the daemon, which sets this, has taken numbers of files back. Mappings that were met
 * before have the numbers of other files then. */
__u32 numbers_ended;

/* How often the daemon, which sets this, has noticed writes to mapped files. After a write, what is
 * known of a file must be checked again. */
__u32 files_written;

static __always_inline __u64 mix(__u64 x)
{
	x *= 0x9e3779b97f4a7c15ull;
	return x ^ (x >> 29);
}

/* Returns the key of a process between two execs; never 0, which marks empty cache entries. */
static __always_inline __u64 space_of(struct task_struct *task, __u32 pid)
{
	return mix(mix(task->group_leader->start_time ^ ((__u64)pid << 40)) + task->self_exec_id) |
	       1;
}

/* Returns the present stamp of the process's mappings (see above). `unique` takes the place of the
 * kernel's count if there is none. A stamp has STAMP_BITS bits, which last three days if `unique`
 * is in nanoseconds. */
#define STAMP_BITS 48

static __always_inline __u64 stamp_of(struct task_struct *task, __u64 unique)
{
	struct mm_struct *memory = task->mm;
	struct mm_struct___seqcount *counted = (struct mm_struct___seqcount *)memory;
	struct mm_struct___int *older = (struct mm_struct___int *)memory;
	__u64 changes;

	if (bpf_core_field_exists(counted->mm_lock_seq.sequence))
		changes = counted->mm_lock_seq.sequence;
	else if (bpf_core_field_exists(older->mm_lock_seq))
		changes = (__u32)older->mm_lock_seq;
	else
		changes = unique;
	changes += (__u64)(files_written + numbers_ended) << 32;
	return changes & ((1ull << STAMP_BITS) - 1);
}

/* --- the tree of mappings --------------------------------------------------------------------- */

#define MAPLE_LEVELS	8
#define MAPLE_NODE_MASK 255ull
#define MAPLE_LEAF	1
#define MAPLE_RANGE	2
#define MAPLE_ARANGE	3

/* A node as an array of words: the parent, pivots, slots. The lowest byte of the last word of the
 * slots (range node) or of the gaps (arange node) is the number of the last slot in use. */
#define RANGE_PIVOTS  15
#define RANGE_SLOTS   16 /* index of the word with the first slot */
#define RANGE_META    31
#define ARANGE_PIVOTS 9
#define ARANGE_SLOTS  10
#define ARANGE_META   30

/* Replaces the node in s->tree_entry by that node's entry for an address; 0: it has none. Returns 1
 * if the entry is a mapping, or there is none; 0 if it is the next node. A global function, so that
 * the BPF verifier checks it once. */
__noinline int maple_descend(struct scratch *given, __u64 address)
{
	struct scratch *s = CHECKED(given);
	__u64 entry = s ? s->tree_entry : 0;
	__u32 type = entry >> 3 & 15, pivots, last, slot;
	bool is_arange = type == MAPLE_ARANGE;

	if (!s)
		return 1;
	s->tree_entry = 0;
	if (type < MAPLE_LEAF || type > MAPLE_ARANGE ||
	    bpf_probe_read_kernel(s->node, sizeof(s->node),
				  (const void *)(entry & ~MAPLE_NODE_MASK)))
		return 1;
	pivots = is_arange ? ARANGE_PIVOTS : RANGE_PIVOTS;
	last = s->node[is_arange ? ARANGE_META : RANGE_META] & 255;
	/* A range node that is full has no such number: its last slot is in that word. */
	if (last > pivots || (!is_arange && s->node[RANGE_PIVOTS]))
		last = pivots;
	for (slot = 0; slot < RANGE_PIVOTS && slot < last; slot++) {
		FORGET(slot);
		if (address <= s->node[1 + slot])
			break;
	}
	slot += is_arange ? ARANGE_SLOTS : RANGE_SLOTS;
	s->tree_entry = s->node[slot & 31];
	return type == MAPLE_LEAF;
}

/* Finds the mapping for an address in the tree. Returns a pointer that the caller must check, or
 * 0. */
static __always_inline __u64 maple_find(struct scratch *s, struct mm_struct *mm, __u64 address)
{
	s->tree_entry = (__u64)mm->mm_mt.ma_root;
	/* If the lowest bits are 2, the root is a node; else it is itself the only mapping. */
	if ((s->tree_entry & 3) != 2 || s->tree_entry <= 4096)
		return s->tree_entry;
	for (int level = 0; level < MAPLE_LEVELS; level++) {
		if (maple_descend(s, address))
			return s->tree_entry;
	}
	return 0;
}

/* Since 6.13 the highest bit of the nanoseconds is a flag (the time was queried). */
#define CTIME_NSEC_MASK 0x3fffffffu

static __always_inline __u64 change_time(struct inode *inode)
{
	struct inode___6_6 *newer = (struct inode___6_6 *)inode;
	struct inode___6_1 *older = (struct inode___6_1 *)inode;

	if (bpf_core_field_exists(inode->i_ctime_sec))
		return (__u64)BPF_CORE_READ(inode, i_ctime_sec) * 1000000000ull +
		       (BPF_CORE_READ(inode, i_ctime_nsec) & CTIME_NSEC_MASK);
	if (bpf_core_field_exists(newer->__i_ctime))
		return (__u64)BPF_CORE_READ(newer, __i_ctime.tv_sec) * 1000000000ull +
		       BPF_CORE_READ(newer, __i_ctime.tv_nsec);
	if (bpf_core_field_exists(older->i_ctime))
		return (__u64)BPF_CORE_READ(older, i_ctime.tv_sec) * 1000000000ull +
		       BPF_CORE_READ(older, i_ctime.tv_nsec);
	return 0;
}

/* Finds the mapping that contains an address, and sets s->vma_pointer and start and end of s->vma.
 * vma_file() sets the rest, which costs more. Returns 0; 1: there is no mapping, or it cannot be
 * read at the moment. */
__noinline int vma_find(struct scratch *given, __u64 address)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *memory = task->mm;
	struct vm_area_struct *vma;

	if (!s)
		return 1;
	count(STACKD_COUNT_MAPPING_LOOKUPS);
	s->vma_pointer = 0;
	vma = (struct vm_area_struct *)maple_find(s, memory, address);
	if (!vma || BPF_CORE_READ(vma, vm_mm) != memory)
		return 1;
	s->vma.start = BPF_CORE_READ(vma, vm_start);
	s->vma.end = BPF_CORE_READ(vma, vm_end);
	if (address < s->vma.start || address >= s->vma.end)
		return 1;
	s->vma_pointer = (__u64)vma;
	return 0;
}

/* Returns the flags (VM_...) of the mapping that was found last. */
static __always_inline __u64 vma_flags(const struct scratch *s)
{
	struct vm_area_struct *vma = (struct vm_area_struct *)s->vma_pointer;

	return BPF_CORE_READ(vma, vm_flags);
}

/* Fills in the rest of s->vma: the mapped file. */
static __always_inline void vma_file(struct scratch *s, struct task_struct *task)
{
	struct vm_area_struct *vma = (struct vm_area_struct *)s->vma_pointer;
	struct file *file = BPF_CORE_READ(vma, vm_file);
	struct inode *inode;

	__builtin_memset(&s->vma.key, 0, sizeof(s->vma.key));
	s->vma.offset = (__u64)BPF_CORE_READ(vma, vm_pgoff) << PAGE_SHIFT;
	s->vma_is_exec = (vma_flags(s) & VM_EXEC) != 0;
	if (!file) {
		if ((__u64)BPF_CORE_READ(task, mm, context.vdso) != s->vma.start)
			return;
		s->vma.offset = 0;
		s->vma.key.inode = ~0ull; /* by this number the daemon recognises the vDSO */
		return;
	}
	inode = BPF_CORE_READ(file, f_inode);
	s->vma.key.inode = BPF_CORE_READ(inode, i_ino);
	s->vma.key.generation = BPF_CORE_READ(inode, i_generation);
	s->vma.key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	s->vma.key.changed_ns = change_time(inode);
}

/* --- the mappings of a sample ----------------------------------------------------------------- */

static __always_inline struct seen_mapping *seen_at(struct scratch *s)
{
	return &s->seen[BOUNDED(s->at, SEEN_ALL)];
}

/* Prepares the cache of mappings for a sample: takes the mappings that samples of the same process
 * have met on this CPU, or empties them if they are not valid any more. */
static __always_inline void start_seen(struct scratch *s)
{
	__u32 index = s->space >> 32 & (SEEN_SPACES - 1);
	struct seen_space *of = &s->seen_spaces[index];

	s->seen_first = index * SEEN_MAPPINGS;
	s->at = s->seen_first;
	if (of->space == s->space && of->stamp == s->stamp)
		return;
	of->space = s->space;
	of->stamp = s->stamp;
	of->next = 0;
	for (int i = 0; i < SEEN_MAPPINGS; i++)
		s->seen[BOUNDED(s->seen_first + i, SEEN_ALL)].size = 0;
}

/* Returns whether one of the cached mappings of the process contains the address. Then s->at is its
 * index. */
static __always_inline bool search_seen(struct scratch *s, __u64 address)
{
	for (int i = 0; i < SEEN_MAPPINGS; i++) {
		const struct seen_mapping *m = &s->seen[BOUNDED(s->seen_first + i, SEEN_ALL)];

		if (address - m->start < m->size) {
			s->at = s->seen_first + i;
			return true;
		}
	}
	return false;
}

/* Adds s->vma to the cached mappings, as s->at; `number` is the number of its file. */
static __always_inline void add_seen(struct scratch *s, __u64 number)
{
	struct seen_space *of =
		&s->seen_spaces[BOUNDED(s->seen_first / SEEN_MAPPINGS, SEEN_SPACES)];
	__u64 start = s->vma.start, offset = s->vma.offset;
	struct seen_mapping *m;

	s->at = s->seen_first + (of->next++ & (SEEN_MAPPINGS - 1));
	m = seen_at(s);
	m->start = start;
	m->size = s->vma.end - start;
	m->location =
		number == STACKD_FILE_NONE ? start & STACKD_LOCATION_MASK : number << 48 | offset;
	m->name =
		(__u32)mix(mix(mix(start) + s->vma.end + numbers_ended) + offset + (number << 48)) |
		1;
	m->n_slices = 0;
}

/* In bytes. The daemon handles larger mappings, and larger offsets in files, so offsets here have
 * 39 bits. */
#define MAX_OFFSET (1ull << 38)

/* Finds the mapping that contains an address; s->at is then its index in the cache. Returns 0;
 * STACKD_END_NO_MAPPING; or STACKD_END_NO_OBJECT: the file is not known yet. */
__noinline int mapping_find(struct scratch *given, __u64 address)
{
	struct scratch *s = CHECKED(given);
	__u32 *file, *made, number = STACKD_FILE_NONE;

	if (!s)
		return STACKD_END_NO_MAPPING;
	if (search_seen(s, address))
		return 0;
	if (vma_find(s, address))
		return STACKD_END_NO_MAPPING;
	vma_file(s, bpf_get_current_task_btf());
	if (!s->vma_is_exec)
		return STACKD_END_NO_MAPPING;
	if (s->vma.key.inode) {
		/* The key is on the stack, since kernels before 6.4 refuse a map's key in a global
		 * function's argument. */
		struct stackd_inode key = s->vma.key;

		if (s->vma.offset >= MAX_OFFSET || s->vma.end - s->vma.start >= MAX_OFFSET)
			return STACKD_END_NO_MAPPING;
		file = CHECKED(bpf_map_lookup_elem(&inodes, &key));
		if (file) {
			number = *file;
		} else {
			made = has_made_files ? CHECKED(bpf_map_lookup_elem(&made_files, &key))
					      : NULL;
			if (!made)
				s->unknown = s->vma;
			if (!made || *made != STACKD_MADE_JIT)
				return STACKD_END_NO_OBJECT;
		}
	}
	add_seen(s, number);
	return 0;
}

/* Like mapping_find(), but without a call if the mapping is the last that was found. */
static __always_inline int mapping_of(struct scratch *s, __u64 address)
{
	const struct seen_mapping *m = seen_at(s);

	return address - m->start < m->size ? 0 : mapping_find(s, address);
}

/* Like mapping_find(), but searches only the cached mappings. Returns 1 if it has found one, else
 * 0. For callers that have no stack left for the search in the tree, which is some four calls deep
 * (the stacks of all functions together have 512 bytes). A global function, so that the BPF
 * verifier checks it once. */
__noinline int mapping_met(struct scratch *given, __u64 address)
{
	struct scratch *s = CHECKED(given);

	return s && search_seen(s, address);
}

/* Returns the location (file number and offset) of an address in a mapping. */
static __always_inline __u64 seen_location(const struct seen_mapping *m, __u64 address)
{
	return m->location + (address - m->start);
}

#endif
