/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a walk knows that a stack begins at its outermost frame (enum stackd_root).
 *
 *      address of the code where stacks begin  <- outermost frame: at the program's first stack
 *      ...                                        pointer, or right below a control block
 *      a frame that a signal has interrupted   <- the path may go over to another stack here
 *   - - - another stack - - - - - - - - - -
 *      the signal's frame
 *      ...
 *      leaf
 *
 * A program can copy a stack, or leave words of one behind, with the address of the code where a
 * stack begins. So a frame counts only where the kernel, or a library of threads, has made the
 * stack begin. That is a range, in which a thread may have a copy in a local array: a copy has the
 * original above it.
 *
 * A path that leads from one stack to another is plain only where a signal has interrupted the code
 * on the other one, and the rest of the path is on that stack. The signal's frame must be where the
 * kernel puts those of handlers at the moment (task->sas_ss_sp), unless the program has let the
 * kernel forget that while the handler runs (SS_AUTODISARM): a handler may have returned long ago,
 * and its stack have become a coroutine's (GNU Pth makes them so).
 *
 * All of this is needed by few walks, so these are global functions, which cost nothing unless they
 * are called.
 */
#ifndef STACK_ROOT_BPF_H
#define STACK_ROOT_BPF_H

#include "scratch.bpf.h"
#include "stack_window.bpf.h"
#include "thread_state.bpf.h"

/* Returns whether a root, which was not found on the leaf's stack, is on another one. The end of
 * the leaf's stack may be out of date, or unknown: a program that protects a part of its stack
 * splits the mapping for a while. So it is looked up anew. */
__noinline int is_on_another_stack(struct scratch *given, __u64 root)
{
	struct scratch *s = CHECKED(given);
	__u64 leaf;

	if (!s)
		return 0;
	leaf = s->record.regs.r[STACKD_REG_SP];
	if (root - leaf < s->stack_end - leaf)
		return 0;
	forget_stack_end(s->record.header.tid);
	find_stack_end(s);
	return s->stack_end && root - leaf >= s->stack_end - leaf;
}

/* Most bytes between a thread's control block and the frame at which its stack begins. The memory
 * of thread-local variables is in between. */
#define BELOW_CONTROL_BLOCK 4096

#define SEARCHED_WORDS 8 /* by a turn of the loop */

/* Searches some words of the copied stack for the address of the outermost frame. Returns 1 to end
 * the loop; s->leaving.is_copied is then set if it is there. */
static long search_copy(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	__u32 first = turn * SEARCHED_WORDS;
	const __u64 *words = (const __u64 *)(s->payload + BOUNDED(first * 8, BELOW_CONTROL_BLOCK));

	for (__u32 i = 0; i < SEARCHED_WORDS; i++) {
		if (first + i >= s->leaving.n_words)
			return 1;
		if (words[i] == s->walk.pc) {
			s->leaving.is_copied = 1;
			return 1;
		}
	}
	return 0;
}

/* Returns whether the words from s->walk's stack pointer up to the control block have the address
 * of the outermost frame once more. Such a frame is a copy. */
static __always_inline bool is_copied(struct scratch *s, __u64 control_block)
{
	__u64 sp = s->walk.r[STACKD_REG_SP], bytes = control_block - sp;

	if (bytes > BELOW_CONTROL_BLOCK ||
	    bpf_probe_read_user(s->payload, BOUNDED(bytes, 2 * BELOW_CONTROL_BLOCK),
				(const void *)sp))
		return false;
	s->leaving.n_words = bytes / 8;
	s->leaving.is_copied = 0;
	bpf_loop(BELOW_CONTROL_BLOCK / 8 / SEARCHED_WORDS, search_copy, &s, 0);
	return s->leaving.is_copied;
}

/* Returns whether the outermost frame is where that of the thread's remembered walk was. */
static __always_inline bool is_root_as_before(struct scratch *s)
{
	const struct thread_state *state = state_at(s);

	return state && state->count && !state->end &&
	       (state->marks[0].slot & ~MARK_FLAGS) == s->walk.slot;
}

/* Returns scratch.end for an outermost frame with the rule that the stack ends there. */
__noinline int end_away(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 entry_sp = task->mm->start_stack, control_block = ARCH_THREAD_POINTER(task), sp;

	if (!s)
		return 0;
	sp = s->walk.r[STACKD_REG_SP];
	/* A loader that was started as a program removes its own arguments. */
	if (entry_sp + STACKD_STACK_BOTTOM - sp > 2 * STACKD_STACK_BOTTOM &&
	    (control_block - sp > BELOW_CONTROL_BLOCK ||
	     (!is_root_as_before(s) && is_copied(s, control_block))))
		return ROOT_BITS(STACKD_ROOT_AWAY);
	return is_on_another_stack(s, sp) ? ROOT_BITS(STACKD_ROOT_CROSSED) : 0;
}

/* --- signals --------------------------------------------------------------------------------- */

/* Compares the slot of the next frame, from the leaf's caller on, with the bounds of the leaf's
 * stack. Returns 1 to end the loop: s->leaving.slot is on another stack. */
static long find_leaving(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	const struct thread_state *state = state_at(s);
	__u32 from_leaf = turn + 1, root = s->kept + s->n_new - 1 - from_leaf;
	__u64 leaf = s->record.regs.r[STACKD_REG_SP], slot;

	if (!state || from_leaf >= s->kept + s->n_new)
		return 1;
	slot = from_leaf < s->n_new ? s->marks[RECENT(from_leaf)].slot
				    : state->marks[BOUNDED(root, MAX_MARKS)].slot;
	if (slot & MARK_MANAGED)
		return 0;
	if ((slot & ~MARK_FLAGS) - leaf >= s->stack_end - leaf) {
		s->leaving.slot = slot & ~MARK_FLAGS;
		return 1;
	}
	s->leaving.signal = slot & MARK_EXACT ? slot & ~MARK_FLAGS : 0;
	return 0;
}

#define AUTODISARM (1u << 31) /* SS_AUTODISARM */

/* Returns whether the handler of a signal may still run, by the frame of the signal, in which the
 * program counter is at `pc_slot`. The frame has the alternate stack as it is without the handler.
 */
static __always_inline bool may_be_handling(struct task_struct *task, __u64 pc_slot)
{
	struct {
		__u64 start;
		__u32 flags, pad;
		__u64 size;
	} stack;
	__u64 at = pc_slot - 8 * WALK_REGS + ARCH_SIGCONTEXT_STACK;

	if (bpf_probe_read_user(&stack, sizeof(stack), (const void *)at))
		return false;
	if (stack.flags & AUTODISARM)
		return !task->sas_ss_size && pc_slot - stack.start < stack.size;
	return pc_slot - task->sas_ss_sp < task->sas_ss_size;
}

/* Returns whether a walk that has ended on another stack has come there by a signal, and then
 * stayed on the stack of the code that the signal has interrupted. */
__noinline int is_left_by_signal(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = s ? state_at(s) : NULL;
	__u64 root, slot;

	if (!state)
		return 0;
	/* Not all frames of a deep stack are at hand. */
	if (s->n_new > MAX_FRAMES || s->kept > MAX_MARKS)
		return s->record.regs.r[STACKD_REG_SP] - task->sas_ss_sp < task->sas_ss_size;
	s->leaving.slot = 0;
	s->leaving.signal = 0;
	bpf_loop(MAX_FRAMES + MAX_MARKS, find_leaving, &s, 0);
	slot = s->leaving.slot;
	if (!s->leaving.signal || !may_be_handling(task, s->leaving.signal))
		return 0;
	if (!slot)
		return 1;
	root = s->kept ? state->marks[0].slot : s->marks[RECENT(s->n_new - 1)].slot;
	root &= ~MARK_FLAGS;
	return !vma_find(s, slot) && root - slot < thread_stack_end(s, task, slot) - slot;
}

#endif
