/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the user stack in bulk, never word by word.
 *
 * A read of 8 bytes of user memory costs some 80 ns, a read of 8 KiB some 330 ns. So words come
 * from a window, a copy of the stack that begins at the stack pointer. It doubles its size whenever
 * a word behind its end is read. If a word is out of its reach (on an alternate stack, or far up a
 * deep one), the window moves there. A page that is not in memory, because it was never written (a
 * large array's) or for another reason, is a hole. It matters only if a word of it is needed.
 */
#ifndef STACK_WINDOW_BPF_H
#define STACK_WINDOW_BPF_H

#include "mapping.bpf.h"
#include "scratch.bpf.h"

#define WINDOW_LEAST 512
#define WINDOW_WHOLE 3072 /* up to this size, all of a remembered stack is copied */
#define WINDOW_TOP   1024 /* the part of a larger stack that is copied at first */
#define WINDOW_FIRST 4096 /* bytes of the first copy, if nothing is known of the stack */

/*
 * The bounds of a thread's stack. A stack hardly ever moves, so the result of the mapping look-up
 * is kept in a small cache of this CPU. An entry is used only for the task for which it was made,
 * and only while the stack pointer is within the bounds. The mapping may have been split or merged
 * since then. This does not affect a walk, since a window can extend beyond the end. A copy for the
 * daemon ends at that address, so it looks the mapping up again.
 *
 * A mapping can hold several stacks: a program may place its threads' stacks in one mapping, and
 * glibc 2.42 makes the guard between two stacks by madvise(), which does not split a mapping. The
 * thread pointer points to the thread's control block. glibc and musl place that above all frames,
 * so the stack ends there at the latest.
 */
struct stack_bounds {
	__u64 start_time; /* with tid: the task */
	__u64 start, end; /* bounds of the mapping, at most up to the thread's control block */
	__u32 tid;
	__u32 pad;
};

#define BOUNDS_SLOTS 256

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BOUNDS_SLOTS);
	__type(key, __u32);
	__type(value, struct stack_bounds);
} bounds_cache SEC(".maps");

/* Most mappings of a thread's stack. A program that calls mlock(), madvise() or mprotect() for a
 * part of its stack makes that a mapping of its own. */
#define STACK_MAPPINGS 8

/* Returns whether a function of the main thread can have this stack pointer; the entry, which is
 * nobody's callee, has the first one. Where calls push nothing, a function that the entry calls has
 * it, too. */
static __always_inline bool is_below_entry(__u64 sp, __u64 entry_sp)
{
	return sp < entry_sp + ARCH_HAS_LINK;
}

/* Returns where the stack ends whose mapping with `sp` is s->vma: if this and the ones right above
 * it lead to where the thread's own stack ends, at that mapping's end or the control block; or else
 * at the end of s->vma. Memory that cannot be read may be the guard of the next thread's stack. */
static __always_inline __u64 thread_stack_end(struct scratch *s, struct task_struct *task, __u64 sp)
{
	__u64 control_block = ARCH_THREAD_POINTER(task), entry_sp = task->mm->start_stack;
	__u64 end = s->vma.end, of_mapping = end;
	bool is_readable = true;

	for (int i = 0; i < STACK_MAPPINGS; i++) {
		if (is_readable && sp < control_block && control_block < end)
			return control_block;
		if (is_below_entry(sp, entry_sp) && entry_sp + 8 <= end)
			return end;
		if (vma_find(s, end))
			break;
		is_readable = is_readable && vma_flags(s) & VM_READ;
		end = s->vma.end;
	}
	return of_mapping;
}

/* Sets s->stack_end to the end of the stack that has the sample's stack pointer; 0 if it cannot be
 * found at the moment. A global function, so that the BPF verifier checks it once. */
__noinline int find_stack_end(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tid = task->pid, slot = tid % BOUNDS_SLOTS;
	__u64 start_time = task->start_time, entry_sp = task->mm->start_stack, sp, end;
	struct stack_bounds *cached = CHECKED(bpf_map_lookup_elem(&bounds_cache, &slot));

	if (!s)
		return 1;
	sp = s->record.regs.r[STACKD_REG_SP];
	s->stack_end = 0;
	if (!cached)
		return 1;
	if (cached->tid != tid || cached->start_time != start_time || sp < cached->start ||
	    sp >= cached->end) {
		if (vma_find(s, sp))
			return 1;
		cached->tid = tid;
		cached->start_time = start_time;
		cached->start = s->vma.start;
		cached->end = thread_stack_end(s, task, sp);
	}
	end = cached->end;
	/* Only arguments and environment are above the main thread's stack pointer at the program's
	 * entry. */
	if (is_below_entry(sp, entry_sp) && entry_sp + 8 <= end)
		end = entry_sp + 8;
	s->stack_end = end;
	return 0;
}

/* Drops a thread's bounds, so that the next look-up reads the mappings. */
static __always_inline void forget_stack_end(__u32 tid)
{
	__u32 slot = tid % BOUNDS_SLOTS;
	struct stack_bounds *cached = CHECKED(bpf_map_lookup_elem(&bounds_cache, &slot));

	if (cached)
		cached->tid = 0;
}

/* Copies `len` more bytes to the end of the window. Returns 0, or 1 if they cannot be read or do
 * not fit. */
static __always_inline int window_copy(struct scratch *s, __u32 len)
{
	__u32 at = s->window_copied;

	if (at > WINDOW_BYTES || len > WINDOW_BYTES - at)
		return 1;
	if (bpf_probe_read_user(&s->window[BOUNDED(at, 2 * WINDOW_BYTES)],
				BOUNDED(len, 2 * WINDOW_BYTES),
				(const void *)(s->window_base + at)))
		return 1;
	s->window_copied = at + len;
	return 0;
}

/* Returns the bit in window_holes of the page that has byte `offset` of the window. */
static __always_inline __u32 window_page(const struct scratch *s, __u32 offset)
{
	return 1u << ((((s->window_base & (PAGE_SIZE - 1)) + offset) >> PAGE_SHIFT) & 31);
}

/* Extends the window to the end of the page at which it ends, or notes that the page is a hole.
 * Returns 1 if the stack is not known to reach there, or the window is full; else 0. */
static __always_inline int window_copy_page(struct scratch *s)
{
	__u32 at = s->window_copied;
	__u32 len = PAGE_SIZE - ((s->window_base + at) & (PAGE_SIZE - 1));

	if (at >= WINDOW_BYTES)
		return 1;
	if (len > WINDOW_BYTES - at)
		len = WINDOW_BYTES - at;
	if (!window_copy(s, len))
		return 0;
	if (!s->window_end)
		return 1;
	s->window_holes |= window_page(s, at);
	s->window_copied = at + len;
	return 0;
}

/* Extends the window to at least `need` bytes. Returns 0, or 1 if that is not possible. */
static __always_inline int window_extend(struct scratch *s, __u32 need)
{
	__u32 copied = s->window_copied;
	__u64 there = s->window_end > s->window_base ? s->window_end - s->window_base : 0;
	__u32 want = copied ? copied * 2 : s->window_first;

	if (want < need)
		want = (need + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
	if (want > there && need <= there)
		want = there;
	if (want > WINDOW_BYTES)
		want = WINDOW_BYTES;
	if (want < need || want <= copied)
		return 1;
	if (!window_copy(s, want - copied))
		return 0;
	/* Some of it cannot be read, so it is copied page by page, as far as needed. */
	for (int i = 0; i <= WINDOW_BYTES / PAGE_SIZE && s->window_copied < need; i++) {
		if (window_copy_page(s))
			return 1;
	}
	return s->window_copied < need;
}

/* Extends the window to at least `need` bytes, and sets window_plain. Returns whether that
 * failed. */
static __always_inline bool window_grow(struct scratch *s, __u32 need)
{
	bool failed = window_extend(s, need);

	s->window_plain = s->window_copied < 8 || s->window_holes ? 0 : s->window_copied - 7;
	return failed;
}

/* Makes the window empty, and lets it begin at another address. */
static __always_inline void window_move(struct scratch *s, __u64 address)
{
	s->window_base = address;
	s->window_end = 0;
	s->window_copied = 0;
	s->window_plain = 0;
	s->window_holes = 0;
}

/* Handles a read of a word that is not in the window: extends the window, or moves it. Returns 0,
 * or 1 if the word cannot be read. A global function, so that the BPF verifier checks it once. */
__noinline int window_miss(struct scratch *given, __u64 address)
{
	struct scratch *s = CHECKED(given);
	__u64 offset;

	if (!s)
		return 1;
	offset = address - s->window_base;
	if (offset > WINDOW_BYTES - 8) {
		window_move(s, address);
		offset = 0;
	}
	if (offset + 8 > s->window_copied && window_grow(s, offset + 8)) {
		/* If the stack's end is not known, a hole ends the window, so a new window begins
		 * at the address. */
		window_move(s, address);
		offset = 0;
		if (window_grow(s, 8))
			return 1;
	}
	return s->window_holes & (window_page(s, offset) | window_page(s, offset + 7)) ? 1 : 0;
}

static __always_inline int walk_read(struct walk *w, __u64 address, __u64 *ret_word)
{
	struct scratch *s = (struct scratch *)w;
	__u64 offset = address - s->window_base;

	if (offset >= s->window_plain) {
		if (window_miss(s, address))
			return 1;
		offset = address - s->window_base;
		if (offset > WINDOW_BYTES - 8)
			return 1;
	}
	*ret_word = *(__u64 *)(s->window + BOUNDED(offset, WINDOW_BYTES));
	return 0;
}

/* Restores the callee-saved registers other than the frame pointer. Lean walks do not need them. A
 * global function, so that the BPF verifier checks it once. */
__noinline int restore_others(struct scratch *given, const struct stackd_rule *given_rule,
			      __u64 cfa, __u64 reg, __u64 has_reg)
{
	struct scratch *s = CHECKED(given);
	const struct stackd_rule *rule = CHECKED(given_rule);

	if (s && rule)
		walk_saved_others(&s->walk, rule,
				  (struct walk_base){.cfa = cfa, .reg = reg, .has_reg = has_reg});
	return 0;
}

#endif
