/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The copy of the stack in a STACK record. The daemon walks that copy.
 *
 * While a table is being loaded, every sample of a program is sent this way. Successive stacks have
 * their root part in common. If the last bytes of the copy are the same as those in this CPU's
 * previous record, of the same thread and up to the same end address, they are left out, and the
 * daemon restores them.
 *
 * The rest of a larger stack is sent before its record, which then has a smaller copy:
 * more_stack.bpf.h.
 */
#ifndef STACK_COPY_BPF_H
#define STACK_COPY_BPF_H

#include "scratch.bpf.h"
#include "stack_window.bpf.h"

SETTING __u32 stack_limit = 65536; /* bytes of user stack in a record, at most; set by the daemon */

#define MAX_PAGES     (STACKD_MAX_STACK_BYTES / PAGE_SIZE + 1)
#define COMPARE_BYTES 64 /* in each iteration */

/* The content of a page of the stack that was never written: zeroes. */
static const __u8 no_page[PAGE_SIZE];

/* Copies up to the next page boundary. Returns 1 to end the loop. If the stack's end is known, a
 * page that is not in memory is a hole: it was never written (a large array's), or is just being
 * faulted in or copied. */
static long copy_page(__u32 index, struct scratch **at_scratch)
{
	struct scratch *scratch = *at_scratch;
	struct page_copy *copy = &scratch->copy;
	__u64 from = copy->from + copy->got;
	__u32 len = PAGE_SIZE - (from & (PAGE_SIZE - 1));
	__u32 at = copy->at + copy->got;
	__u64 page = (from >> PAGE_SHIFT) - (copy->from >> PAGE_SHIFT);

	(void)index;
	if (copy->got >= copy->want)
		return 1;
	if (len > copy->want - copy->got)
		len = copy->want - copy->got;
	FORGET(len);
	if (len > PAGE_SIZE || at > sizeof(scratch->payload) - PAGE_SIZE)
		return 1;
	if (bpf_probe_read_user(&scratch->payload[at], len, (const void *)from)) {
		if (!copy->is_bounded || page > 63 ||
		    bpf_probe_read_kernel(&scratch->payload[at], len, no_page))
			return 1;
		scratch->record.holes |= 1ull << (page & 63);
	}
	copy->got += len;
	return 0;
}

#define COPIED_AT_ZERO 4096 /* bytes that are copied from the slot of a return address of 0 on */

/* Returns how many bytes of stack the daemon may need. If the leaf's return address is 0, the
 * daemon only checks whether the stack begins there, and needs little. */
static __always_inline __u64 needed_stack(const struct scratch *s, __u64 sp)
{
	if (s->n_new <= 1 && s->end == STACKD_END_BAD_RECIPE && !s->walk.pc && s->walk.slot >= sp)
		return s->walk.slot + COPIED_AT_ZERO - sp;
	return ~0ull;
}

/* Copies the stack, from the stack pointer on, to payload[at]. Returns the number of bytes
 * copied. */
static __always_inline __u32 copy_stack(struct scratch *scratch, __u32 at)
{
	struct stackd_stack_record *record = &scratch->record;
	__u64 sp = record->regs.r[STACKD_REG_SP], end, there, most = needed_stack(scratch, sp);
	__u64 want;

	forget_stack_end(record->header.tid);
	find_stack_end(scratch);
	end = scratch->stack_end;
	record->stack_end = end;
	there = end > sp ? end - sp : (__u64)stack_limit + 1;
	if (most > scratch->copy_limit)
		most = scratch->copy_limit;
	want = there > most ? most : there;
	FORGET(want); /* else the compiler would compare only its lower half */
	if (want > STACKD_MAX_STACK_BYTES || at > STACKD_MAX_KERNEL_FRAMES * 8)
		return 0;
	if (there > most)
		record->header.flags |= STACKD_STACK_CUT;
	if (end &&
	    !bpf_probe_read_user(&scratch->payload[BOUNDED(at, 1024)], want, (const void *)sp))
		return want;
	/* Some of it cannot be read, or its end is not known, so it is copied page by page as far
	 * as that is possible. */
	scratch->copy =
		(struct page_copy){.from = sp, .at = at, .want = want, .is_bounded = end != 0};
	bpf_loop(MAX_PAGES, copy_page, &scratch, 0);
	if (scratch->copy.got < want) {
		record->header.flags &= ~STACKD_STACK_CUT; /* the limit did not end the copy */
		record->header.flags |= STACKD_STACK_FAULT;
	}
	return scratch->copy.got;
}

/* --- bytes that the previous record had, too ------------------------------------------------ */

/* Compares the next COMPARE_BYTES bytes rootwards. Returns 1 to end the loop. */
static long compare_bytes(__u32 turn, struct scratch **at_scratch)
{
	struct scratch *s = *at_scratch;
	__u32 shared = s->record.shared + COMPARE_BYTES;
	__u32 ours = s->copy.at + s->record.stack_bytes - shared;
	__u32 theirs = s->previous.bytes - shared;

	(void)turn;
	if (shared > s->record.stack_bytes || shared > s->previous.bytes)
		return 1;
	FORGET(ours);
	FORGET(theirs);
	if (ours > sizeof(s->payload) - COMPARE_BYTES ||
	    theirs > sizeof(s->previous.data) - COMPARE_BYTES)
		return 1;
	/* Through pointers, since the compiler would read an array of bytes one element at a
	 * time. */
	for (int i = 0; i < COMPARE_BYTES; i += 8) {
		if (*(__u64 *)(s->payload + ours + i) != *(__u64 *)(s->previous.data + theirs + i))
			return 1;
	}
	s->record.shared = shared;
	return 0;
}

/* Finds how many of the last bytes of the copy at payload[at] need not be sent (record.shared), and
 * numbers the record. */
static __always_inline void leave_out_shared(struct scratch *s, __u32 at)
{
	struct stackd_stack_record *record = &s->record;
	const struct previous_stack *previous = &s->previous;
	__u64 sp = record->regs.r[STACKD_REG_SP];

	if (!record->stack_bytes || sp & 7 || record->stack_bytes & 7)
		return; /* it is not aligned as stacks are */
	record->number = previous->number + 1 ? previous->number + 1 : 1;
	s->copy.at = at;
	if (previous->number && previous->tid == record->header.tid &&
	    previous->end == sp + record->stack_bytes)
		bpf_loop(STACKD_SHARED_BYTES / COMPARE_BYTES, compare_bytes, &s, 0);
}

/* Called when the record is in the ring buffer: keeps its last bytes, so that the next record can
 * leave out the same ones. */
static __always_inline void keep_previous(struct scratch *s, __u32 at)
{
	struct previous_stack *previous = &s->previous;
	__u32 bytes = s->record.stack_bytes, from = at;

	if (bytes > sizeof(previous->data)) {
		from += bytes - sizeof(previous->data);
		bytes = sizeof(previous->data);
	}
	FORGET(bytes);
	FORGET(from);
	if (bytes > sizeof(previous->data) || from > sizeof(s->payload) - sizeof(previous->data))
		return;
	previous->number = s->record.number;
	previous->tid = s->record.header.tid;
	previous->end = s->record.regs.r[STACKD_REG_SP] + s->record.stack_bytes;
	previous->bytes = bytes;
	if (bpf_probe_read_kernel(previous->data, bytes, &s->payload[from]))
		previous->tid = 0; /* no thread has this id, so the next record leaves out
				    * nothing */
}

#endif
